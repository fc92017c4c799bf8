"""Helm and kubeconform, installed with `go install` into build/kube-tools/, and JSON schemas of the resources of Kubernetes
and of the Prometheus operator, made from their Go modules."""

import json
import os
import shutil
import subprocess
import unittest
from pathlib import Path

HELM = "helm.sh/helm/v3/cmd/helm@v3.18.6"
KUBECONFORM = "github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0"
KUBERNETES = "k8s.io/kubernetes@v1.33.3"
OPERATOR = "github.com/prometheus-operator/prometheus-operator@v0.85.0"
FORMAT = 1  # Raise it when this module writes other schemas.
FOLDER = Path(__file__).resolve().parents[2] / "build/kube-tools"


def module_folder(module, folder):
    """The folder of a Go module, which is downloaded if it is not there. Dependencies are not."""
    done = subprocess.run(["go", "mod", "download", "-json", module], stdout=subprocess.PIPE, cwd=folder, check=True)
    return Path(json.loads(done.stdout)["Dir"])


def strict(schema, definitions, open_kinds=()):
    """A schema that stands alone: references are replaced, and objects with known fields have no others."""
    if isinstance(schema, list):
        return [strict(each, definitions, open_kinds) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name in open_kinds:  # It contains itself.
            return {}
        return strict(definitions[name], definitions, (*open_kinds, name))
    if schema.get("x-kubernetes-int-or-string") or schema.get("format") == "int-or-string":
        return {"type": ["integer", "string"]}
    result = {}
    for name, value in schema.items():
        if name == "properties":
            result[name] = {field: strict(each, definitions, open_kinds) for field, each in value.items()}
        elif name in ("items", "additionalProperties", "anyOf", "allOf", "oneOf", "not"):
            result[name] = strict(value, definitions, open_kinds)
        elif name in ("type", "enum", "required", "pattern", "minimum", "maximum", "minLength", "maxLength", "minItems"):
            result[name] = value
    if "properties" in result and not schema.get("x-kubernetes-preserve-unknown-fields"):
        result.setdefault("additionalProperties", False)
    return result


def write_schema(folder, group, version, kind, schema):
    """In the place where kubeconform looks for it: the version and the first part of the group are in its name."""
    group = group.partition(".")[0]
    name = "-".join(filter(None, (kind.lower(), group, version)))
    (folder / f"{name}.json").write_text(json.dumps(schema), encoding="utf-8")


def write_kubernetes(module, folder):
    definitions = json.loads((module / "api/openapi-spec/swagger.json").read_text(encoding="utf-8"))["definitions"]
    quantity = "io.k8s.apimachinery.pkg.api.resource.Quantity"
    definitions[quantity] = {"type": ["string", "number"]}
    for definition in definitions.values():
        for kind in definition.get("x-kubernetes-group-version-kind", ()):
            if "spec" in definition.get("properties", {}) or kind["kind"] in ("ConfigMap", "Secret", "ServiceAccount"):
                write_schema(folder, kind["group"], kind["version"], kind["kind"], strict(definition, definitions))


def write_operator(module, folder):
    for path in (module / "jsonnet/prometheus-operator").glob("*-crd.json"):
        spec = json.loads(path.read_text(encoding="utf-8"))["spec"]
        for version in spec["versions"]:
            schema = strict(version["schema"]["openAPIV3Schema"], {})
            schema["properties"]["metadata"] = {"type": "object"}
            write_schema(folder, spec["group"], version["name"], spec["names"]["kind"], schema)


def install():
    """Does nothing if everything is there already. Skips the tests without Go."""
    wanted = "\n".join((HELM, KUBECONFORM, KUBERNETES, OPERATOR, str(FORMAT)))
    stamp, schemas = FOLDER / "installed", FOLDER / "schemas"
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return
    if not shutil.which("go"):
        raise unittest.SkipTest("Helm and kubeconform are installed with Go, which is not installed")
    shutil.rmtree(schemas, ignore_errors=True)
    schemas.mkdir(parents=True)
    for program in (HELM, KUBECONFORM):
        print(f"go install {program}", flush=True)
        subprocess.run(["go", "install", program], env=os.environ | {"GOBIN": str(FOLDER)}, check=True)
    write_kubernetes(module_folder(KUBERNETES, FOLDER), schemas)
    write_operator(module_folder(OPERATOR, FOLDER), schemas)
    stamp.write_text(wanted, encoding="utf-8")
