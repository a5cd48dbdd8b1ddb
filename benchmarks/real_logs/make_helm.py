"""Makes logs with the real HELM: helm-run on a scenario and models of our own.

Two models answer five questions in two training trials, as they stand and in lower case
(a perturbation). Writes what `helm-run` writes per run, `run_spec.json` and
`per_instance_stats.json`, and beside them `expected.csv`: what each model was asked and
made to answer, written down by the client, not read from the logs.

    python benchmarks/real_logs/make_helm.py tests/samples/helm

Needs crfm-helm; nothing is downloaded. `--no-deps` and the small ones of its
dependencies are enough (torch, transformers and spacy are not used here).
"""

import csv
import shutil
import sys
import tempfile
from pathlib import Path

from helm.benchmark import model_deployment_registry as deployments
from helm.benchmark import model_metadata_registry as metadata
from helm.benchmark.adaptation.common_adapter_specs import get_generation_adapter_spec
from helm.benchmark.metrics.metric import MetricSpec
from helm.benchmark.run import main as helm_run
from helm.benchmark.run_spec import RunSpec, run_spec_function
from helm.benchmark.scenarios import scenario as helm
from helm.clients.simple_client import SimpleClient

# HELM names instances by their place: the training ones first, id0 and id1
TRAIN = {"Spain": "Madrid", "Peru": "Lima"}
TEST = {"France": "Paris", "Italy": "Rome", "Norway": "Oslo", "Chad": "N'Djamena"}
TEST["Japan"] = "Tokyo"
MODELS = {"lab/model-a": 1, "lab/model-b": 2}
# exact_match, quasi_exact_match
SCORES = {"right": (1, 1), "nearly": (0, 1), "wrong": (0, 0)}
ANSWERED = []  # (model, item, trial's example, kind) of what was not perturbed


class CapitalsScenario(helm.Scenario):
    """Capitals of countries, two for training."""

    name, description, tags = "capitals", "Capitals of countries.", ["geography"]

    def get_instances(self, output_path):
        """Return the questions."""
        splits = [(TRAIN, helm.TRAIN_SPLIT), (TEST, helm.TEST_SPLIT)]
        return [
            helm.Instance(
                helm.Input(text=f"The capital of {country}?"),
                [helm.Reference(helm.Output(text=city), tags=[helm.CORRECT_TAG])],
                split=split,
            )
            for table, split in splits
            for country, city in table.items()
        ]


class CapitalsClient(SimpleClient):
    """Answers from the table, right or not by model, question and example."""

    def invoke_model(self, raw_request):
        """Return one completion and write down what it was."""
        model, prompt = raw_request["engine"], raw_request["prompt"]
        country = prompt.rsplit("capital of ", 1)[1].split("?")[0]
        if country not in TEST:  # the perturbation put it in lower case
            return {"completions": ["unheard"]}
        place = list(TEST).index(country)
        example = next(k for k, name in enumerate(TRAIN) if name in prompt)
        kind = list(SCORES)[(place * MODELS[f"lab/{model}"] + example) % 3]
        ANSWERED.append([f"lab/{model}", f"id{len(TRAIN) + place}", example, kind])
        city = TEST[country]
        return {
            "completions": [{"right": city, "nearly": city.lower() + "."}.get(kind, "")]
        }


@run_spec_function("capitals")
def capitals() -> RunSpec:
    """Return the specification of a run: one example, exact and quasi-exact match."""
    names = ["exact_match", "quasi_exact_match"]
    metric = "helm.benchmark.metrics.basic_metrics.BasicGenerationMetric"
    return RunSpec(
        name="capitals:continent=all",
        scenario_spec=helm.ScenarioSpec(class_name=f"{__name__}.CapitalsScenario"),
        adapter_spec=get_generation_adapter_spec(
            input_noun="Question", output_noun="Answer", max_train_instances=1
        ),
        metric_specs=[MetricSpec(class_name=metric, args={"names": names})],
        groups=["capitals"],
    )


def register_models() -> None:
    """Tell HELM of the models and of their client."""
    client = deployments.ClientSpec(class_name=f"{__name__}.CapitalsClient")
    for name in MODELS:
        metadata.register_model_metadata(
            metadata.ModelMetadata(
                name, "lab", name, "", "open", None, [metadata.TEXT_MODEL_TAG]
            )
        )
        deployments.register_model_deployment(
            deployments.ModelDeployment(
                name,
                client,
                tokenizer_name="simple/tokenizer1",
                max_sequence_length=2048,
            )
        )


def main() -> None:
    """Run HELM once per model and keep what it writes per instance."""
    out = Path(sys.argv[1]).resolve()
    out.mkdir(parents=True)
    register_models()
    entries = [f"capitals:model={m},data_augmentation=lower" for m in MODELS]
    with tempfile.TemporaryDirectory() as folder:
        sys.argv[1:] = [
            *("--run-entries", *entries, "--suite", "s", "--output-path", folder),
            *("--local-path", f"{folder}/local", "--max-eval-instances", "5"),
            *("--num-train-trials", "2", "--num-threads", "1", "--disable-cache"),
        ]
        helm_run()
        for run in (Path(folder) / "runs" / "s").glob("capitals*"):
            # colons in names cannot be checked out everywhere
            place = out / run.name.split("model=lab_")[1].split(",")[0]
            place.mkdir()
            for name in ("run_spec.json", "per_instance_stats.json"):
                shutil.copy(run / name, place)
    with (out / "expected.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["model", "instance", "example", *capitals_metrics()])
        writer.writerows([*row[:3], *SCORES[row[3]]] for row in sorted(ANSWERED))


def capitals_metrics() -> list[str]:
    """Return the names of the scores."""
    return capitals().metric_specs[0].args["names"]


if __name__ == "__main__":
    # HELM imports scenario and client by name
    sys.path.insert(0, str(Path(__file__).parent))
    sys.modules["make_helm"] = sys.modules["__main__"]
    main()
