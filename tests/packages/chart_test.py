"""The Helm chart: rendered with several value files, checked by kubeconform, and given to the server."""

import functools
import json
import math
import os
import re
import subprocess
import unittest
from pathlib import Path

import kube_tools
import yaml
from support import http1
from support.environment import TIMEOUT, wait_until
from support.ports import free_port
from support.sluice import ServerTest, run_sluice

SOURCE = Path(__file__).resolve().parents[2]
TOOLS = kube_tools.FOLDER
VERSION = re.search(r"^project\(sluice VERSION ([\d.]+) ", (SOURCE / "CMakeLists.txt").read_text(), re.MULTILINE)[1]
CHART = SOURCE / "deploy/helm/sluice"
VALUE_FILES = (None, *sorted((CHART / "ci").glob("*.yaml")))
KUBERNETES = ("1.27.0", "1.33.3")
SECRET = "0123456789abcdef0123456789abcdef"


def setUpModule():
    kube_tools.install()
    os.environ.setdefault("SLUICE", str(SOURCE / "build/release/bin/sluice"))


def run_tool(name, *arguments, text=None):
    return subprocess.run(
        [TOOLS / name, *map(str, arguments)], input=text, capture_output=True, text=True, timeout=TIMEOUT, check=False
    )


@functools.cache
def helm(command, *arguments, values=None, version=KUBERNETES[-1]):
    """`helm lint` or `helm template` of the chart; `arguments` are name=value."""
    chart = ("limits", CHART) if command == "template" else (CHART,)
    files = ("--values", values) if values else ()
    sets = [flag for argument in arguments for flag in ("--set", argument)]
    return run_tool("helm", command, *chart, "--namespace", "default", "--kube-version", version, *files, *sets)


def render(*arguments, **options):
    """The resources, each under (kind, name)."""
    rendered = helm("template", *arguments, **options)
    if rendered.returncode:
        raise AssertionError(rendered.stderr)
    resources = [resource for resource in yaml.safe_load_all(rendered.stdout) if resource]
    return {(resource["kind"], resource["metadata"]["name"]): resource for resource in resources}


def only(resources, kind):
    """The resource of a kind that has one."""
    (found,) = (resource for (its_kind, _), resource in resources.items() if its_kind == kind)
    return found


def has(resources, kind):
    return any(its_kind == kind for its_kind, _ in resources)


def container_of(resources):
    (container,) = only(resources, "Deployment")["spec"]["template"]["spec"]["containers"]
    return container


def cpus(quantity):
    """As Kubernetes passes a limit to a container: in whole CPUs."""
    text = str(quantity)
    return math.ceil(float(text[:-1]) / 1000 if text.endswith("m") else float(text))


class Container:
    """The files, arguments and variables of the container, below a folder instead of /."""

    def __init__(self, folder, resources):
        self.folder = folder
        pod = only(resources, "Deployment")["spec"]["template"]["spec"]
        container = container_of(resources)
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        self.mounted = set()
        for mount in container["volumeMounts"]:
            self.mount(Path(mount["mountPath"]), volumes[mount["name"]], resources)
        self.arguments = [self.inside(argument) for argument in container["args"]]
        self.variables = {variable["name"]: self.value_of(variable, container) for variable in container.get("env", ())}

    def inside(self, text):
        return re.sub(r"(?<![\w:/])/(etc|var/lib)/sluice", rf"{self.folder}/\1/sluice", text)

    def mount(self, path, volume, resources):
        target = self.folder / path.relative_to("/")
        target.mkdir(parents=True)
        source = volume.get("configMap") or volume.get("secret")
        if not source:
            return
        config_map = resources.get(("ConfigMap", source.get("name")))
        data = config_map["data"] if config_map else {}
        items = source.get("items") or [{"key": key, "path": key} for key in data]
        for item in items:
            # A Secret, or a ConfigMap that is not part of the release.
            text = data[item["key"]] if config_map else SECRET
            (target / item["path"]).write_text(self.inside(text), encoding="utf-8")
            self.mounted.add(str(path / item["path"]))

    def value_of(self, variable, container):
        if "value" in variable:
            return variable["value"]
        source = variable["valueFrom"]
        if "resourceFieldRef" in source:
            return str(cpus(container["resources"]["limits"]["cpu"]))
        assert source["secretKeyRef"]["name"] and source["secretKeyRef"]["key"]
        return "redis-cluster://redis-0:6379,redis-1:6379"

    def environment(self):
        return {name: value for name, value in os.environ.items() if not name.startswith("SLUICE")} | self.variables

    def print_config(self):
        return run_sluice(*self.arguments, "--print-config", env=self.environment())


def flat(settings, prefix=""):
    """Names and values of settings, as `http.listen`."""
    for name, value in settings.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


class Rendered(ServerTest):
    def test_the_chart_has_no_lint(self):
        for values in VALUE_FILES:
            with self.subTest(values=values):
                linted = helm("lint", values=values)
                self.assertEqual(linted.returncode, 0, linted.stdout + linted.stderr)
                self.assertNotRegex(linted.stdout, r"\[(WARNING|ERROR)\]")

    def test_kubernetes_knows_every_field(self):
        for values in VALUE_FILES:
            for version in KUBERNETES:
                with self.subTest(values=values, version=version):
                    text = helm("template", values=values, version=version).stdout
                    report = self.conform(text)
                    self.assertEqual(report["resources"], [], report)
                    self.assertEqual(report["summary"]["skipped"], 0, report)
                    self.assertGreaterEqual(report["summary"]["valid"], 5, report)

    def test_the_schemas_refuse_what_kubernetes_does_not_know(self):
        text = helm("template", values=CHART / "ci/production.yaml").stdout
        for right, wrong, kind in (
            ("readOnlyRootFilesystem:", "readOnlyRootFileSystem:", "Deployment"),
            ("maxUnavailable: 25%", "maxUnavailabel: 25%", "PodDisruptionBudget"),
            ("averageUtilization: 70", "averageUtilization: many", "HorizontalPodAutoscaler"),
            ("policyTypes:", "policyKinds:", "NetworkPolicy"),
            ("interval: 15s", "intervall: 15s", "ServiceMonitor"),
            ("alert: SluiceDown", "alarm: SluiceDown", "PrometheusRule"),
        ):
            with self.subTest(wrong=wrong):
                self.assertIn(right, text)
                report = self.conform(text.replace(right, wrong))
                self.assertIn(kind, {resource["kind"] for resource in report["resources"]}, report)

    def conform(self, text):
        schemas = f"{TOOLS}/schemas/{{{{ .ResourceKind }}}}{{{{ .KindSuffix }}}}.json"
        checked = run_tool("kubeconform", "-strict", "-summary", "-output", "json", "-schema-location", schemas, text=text)
        return json.loads(checked.stdout)

    def test_the_server_reads_the_settings_as_the_chart_wrote_them(self):
        for values in VALUE_FILES:
            with self.subTest(values=values):
                resources = render(values=values)
                container = Container(self.folder / (values.stem if values else "none"), resources)
                printed = container.print_config()
                self.assertEqual((printed.returncode, printed.stderr), (0, ""))
                effective = dict(flat(yaml.load(printed.stdout, Loader=yaml.BaseLoader)))
                text = resources[("ConfigMap", only(resources, "Deployment")["metadata"]["name"])]["data"]["sluice.yaml"]
                written = yaml.load(container.inside(text), Loader=yaml.BaseLoader)
                labels = written.get("metrics", {}).pop("labels", {})
                for name, value in flat(written):
                    self.assertEqual(effective[name], value, name)
                for name, value in labels.items():
                    self.assertIn(f"{name}={value}", effective["metrics.labels"])
                for path in re.findall(r"/etc/sluice/[\w./-]+", text):
                    self.assertIn(path, container.mounted)
                ports = {port["name"]: port["containerPort"] for port in container_of(resources)["ports"]}
                for name, port in ports.items():
                    listen = effective[f"{name}.listen"], effective.get(f"{name}_tls.listen", "none")
                    self.assertIn(f":{port}", listen)
                for name in {"resp", "grpc"} - set(ports):
                    self.assertEqual(effective[f"{name}.listen"], "none")

    def test_variables_are_settings(self):
        service = Container(self.folder / "service", render(values=CHART / "ci/rule-service.yaml"))
        effective = yaml.safe_load(service.print_config().stdout)
        self.assertEqual(effective["store"], "redis-cluster://redis-0:6379,redis-1:6379")
        self.assertEqual(effective["rules_source"], "store")
        memory = Container(self.folder / "memory", render(values=CHART / "ci/memory.yaml"))
        self.assertEqual(yaml.safe_load(memory.print_config().stdout)["threads"], 2)

    def test_rules_are_those_of_the_values(self):
        for name in ("memory", "three-lines"):
            container = Container(self.folder / name, render(values=CHART / f"ci/{name}.yaml"))
            checked = run_sluice("check-config", container.folder / "etc/sluice/rules/rules.yaml")
            self.assertEqual(checked.returncode, 0, checked.stderr)
            self.assertIn("1 rule", checked.stdout)

    def test_the_server_starts_and_its_probes_succeed(self):
        ports = {name: free_port() for name in ("http", "admin")}
        resources = render(*(f"ports.{name}={port}" for name, port in ports.items()), values=CHART / "ci/memory.yaml")
        container = Container(self.folder, resources)
        with (self.folder / "log").open("w") as log:
            server = subprocess.Popen(
                [os.environ["SLUICE"], *container.arguments],
                env=container.environment(),
                stdout=subprocess.DEVNULL,
                stderr=log,
            )
        try:
            for probe in ("livenessProbe", "readinessProbe"):
                get = container_of(resources)[probe]["httpGet"]
                self.assertEqual(get["port"], "admin")
                wait_until(lambda path=get["path"]: self.status(ports["admin"], path) == 200, f"{probe} does not succeed")
            answered = http1.request(ports["http"], "GET", "/api/v1/rate-limit/check?key=alice")
            self.assertEqual(answered.status, 200)
            self.assertEqual(self.status(ports["http"], "/metrics"), 404)
            self.assertEqual(self.status(ports["admin"], "/metrics"), 200)
        finally:
            server.terminate()
            self.assertEqual(server.wait(TIMEOUT), 0, (self.folder / "log").read_text(encoding="utf-8"))

    def status(self, port, path):
        try:
            return http1.request(port, "GET", path).status
        except OSError:
            return None


class Resources(unittest.TestCase):
    def test_the_document_shows_the_values_of_three_lines(self):
        text = (SOURCE / "docs/kubernetes.md").read_text(encoding="utf-8")
        shown = re.search(r"values of three lines:\n\n```yaml\n(.*?)```", text, re.DOTALL)[1]
        self.assertEqual(shown, (CHART / "ci/three-lines.yaml").read_text(encoding="utf-8"))
        self.assertEqual(len(shown.splitlines()), 3)

    def test_pods_meet_the_restricted_standard(self):
        for values in VALUE_FILES:
            for (kind, _), resource in render(values=values).items():
                if kind not in ("Deployment", "Pod"):
                    continue
                with self.subTest(values=values, kind=kind):
                    pod = resource["spec"]["template"]["spec"] if kind == "Deployment" else resource["spec"]
                    self.assertFalse(pod["automountServiceAccountToken"])
                    self.assertFalse({"hostNetwork", "hostPID", "hostIPC"} & set(pod))
                    context = pod["securityContext"]
                    self.assertTrue(context["runAsNonRoot"])
                    self.assertEqual((context["runAsUser"], context["runAsGroup"]), (65532, 65532))
                    self.assertEqual(context["seccompProfile"], {"type": "RuntimeDefault"})
                    for volume in pod.get("volumes", ()):
                        self.assertTrue({"configMap", "secret", "emptyDir", "persistentVolumeClaim"} & set(volume), volume)
                    for container in pod["containers"]:
                        self.assertEqual(
                            container["securityContext"],
                            {
                                "allowPrivilegeEscalation": False,
                                "readOnlyRootFilesystem": True,
                                "capabilities": {"drop": ["ALL"]},
                            },
                        )

    def test_the_admin_port_is_in_a_service_of_its_own(self):
        resources = render()
        ports = {name: [port["name"] for port in service["spec"]["ports"]]
                 for (kind, name), service in resources.items() if kind == "Service"}  # fmt: skip
        self.assertEqual(ports, {"limits-sluice": ["http", "resp", "grpc"], "limits-sluice-admin": ["admin"]})

    def test_secrets_are_files_that_others_cannot_read(self):
        expected = {
            "production": {"redis", "redis-ca", "sluice-admin", "sluice-receipts", "sluice-tls"},
            "rule-service": {"first-rules", "sluice-admin", "sluice-receipts"},
        }
        for name, secrets in expected.items():
            with self.subTest(values=name):
                resources = render(values=CHART / f"ci/{name}.yaml")
                self.assertFalse(has(resources, "Secret"))
                volumes = only(resources, "Deployment")["spec"]["template"]["spec"]["volumes"]
                modes = {volume["secret"]["secretName"]: volume["secret"]["defaultMode"] for volume in volumes if "secret" in volume}
                self.assertEqual(modes, dict.fromkeys(secrets, 0o440))

    def test_selectors_find_the_pods(self):
        resources = render(values=CHART / "ci/production.yaml")
        labels = only(resources, "Deployment")["spec"]["template"]["metadata"]["labels"]
        spec = only(resources, "Deployment")["spec"]
        selectors = [
            spec["selector"]["matchLabels"],
            only(resources, "PodDisruptionBudget")["spec"]["selector"]["matchLabels"],
            only(resources, "NetworkPolicy")["spec"]["podSelector"]["matchLabels"],
            *(each["labelSelector"]["matchLabels"] for each in spec["template"]["spec"]["topologySpreadConstraints"]),
            *(resource["spec"]["selector"] for (kind, _), resource in resources.items() if kind == "Service"),
        ]
        for selector in selectors:
            self.assertEqual(selector, {name: labels[name] for name in selector})
        self.assertEqual(len(selectors), 7)
        monitor = only(resources, "ServiceMonitor")["spec"]["selector"]["matchLabels"]
        services = {
            name: resource["metadata"]["labels"] for (kind, name), resource in resources.items() if kind == "Service"
        }
        found = [name for name, its in services.items() if monitor.items() <= its.items()]
        self.assertEqual(found, ["limits-sluice-admin"])

    def test_one_pod_has_no_disruption_budget_and_two_have_one(self):
        self.assertFalse(has(render(), "PodDisruptionBudget"))
        self.assertEqual(only(render(), "Deployment")["spec"]["replicas"], 1)
        shared = render("redis.url=redis://redis:6379")
        self.assertTrue(has(shared, "PodDisruptionBudget"))
        self.assertEqual(only(shared, "Deployment")["spec"]["replicas"], 2)

    def test_the_autoscaler_sets_the_number_of_pods(self):
        resources = render("autoscaling.enabled=true", "redis.url=redis://redis:6379")
        self.assertNotIn("replicas", only(resources, "Deployment")["spec"])
        target = only(resources, "HorizontalPodAutoscaler")["spec"]["scaleTargetRef"]
        self.assertEqual((target["kind"], target["name"]), ("Deployment", "limits-sluice"))

    def test_pods_restart_for_settings_and_not_for_rules(self):
        def annotations(*arguments):
            return only(render(*arguments), "Deployment")["spec"]["template"]["metadata"]["annotations"]

        one, other = ("rules.inline.rules[0].id=a", "rules.inline.rules[0].id=b")
        self.assertEqual(annotations(one), annotations(other))
        self.assertNotEqual(annotations(one), annotations(one, "settings.log.level=debug"))

    def test_alerts_and_dashboard_are_those_of_the_tree(self):
        resources = render(values=CHART / "ci/production.yaml")
        alerts = yaml.safe_load((SOURCE / "deploy/prometheus/alerts.yml").read_text(encoding="utf-8"))
        self.assertEqual(only(resources, "PrometheusRule")["spec"]["groups"], alerts["groups"])
        dashboard = json.loads((SOURCE / "deploy/grafana/sluice.json").read_text(encoding="utf-8"))
        shown = resources[("ConfigMap", "limits-sluice-dashboard")]
        self.assertEqual(json.loads(shown["data"]["sluice.json"]), dashboard)
        self.assertEqual(shown["metadata"]["labels"]["grafana_dashboard"], "1")

    def test_the_version_is_that_of_the_project(self):
        chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
        self.assertEqual((chart["version"], chart["appVersion"]), (VERSION, VERSION))
        self.assertEqual(container_of(render())["image"], f"sluice:{VERSION}")

    def test_pods_wait_before_they_stop_where_kubernetes_can(self):
        self.assertEqual(container_of(render())["lifecycle"], {"preStop": {"sleep": {"seconds": 5}}})
        self.assertNotIn("lifecycle", container_of(render(version="1.27.0")))

    def test_invalid_values_are_refused_with_a_reason(self):
        redis = "redis.url=redis://redis"
        for arguments, reason in (
            (("replicas=2",), "pods don't share limits in memory"),
            (("autoscaling.enabled=true",), "pods don't share limits in memory"),
            (("redis.urlKey=url",), "set redis.existingSecret"),
            (("redis.existingSecret=a",), "set redis.url"),
            (("redis.urlKey=url", "redis.existingSecret=a", "redis.caSecret=b"), "the URL names the file itself"),
            (("rules.inline=a", "rules.existingConfigMap=b"), "set one of"),
            (("rules.existingConfigMap=a", "rules.existingSecret=b"), "set one of"),
            (("rules.source=store",), "set redis.url or state.existingClaim"),
            (("tls.clientCaKey=ca.crt",), "set tls.existingSecret"),
            ((redis, "autoscaling.enabled=true", "autoscaling.minReplicas=20"), "minReplicas is more than maxReplicas"),
            ((redis, "autoscaling.enabled=true", "resources.requests.cpu=null"), "set resources.requests.cpu"),
            (("settings.http.listen=:80",), "the chart sets `http.listen` itself; use the value `ports.http`"),
            (("settings.store=memory",), "the chart sets `store` itself; use the value `redis.url`"),
            (("settings.admin.token=x",), "use the value `admin.existingSecret`"),
            (("replcas=2",), "replcas"),
            (("redis.url=redis:6379",), "redis"),
            (("redis.url=redis://:secret@redis",), "readable in a ConfigMap"),
            (("redis.url=redis://alice:sec/r@et@redis",), "readable in a ConfigMap"),
            (("redis.url=redis-sentinel://alice:secret@mymaster@redis",), "readable in a ConfigMap"),
            (("extraEnv[0].name=SLUICE_ADMIN_TOKEN", "extraEnv[0].value=secret"), "readable in the Deployment"),
            (("extraEnv[0].name=SLUICE_STORE", "extraEnv[0].value=redis://:secret@redis"), "readable in the Deployment"),
            (("redis.url=redis://redis?password_file=/a", "redis.existingSecret=b"), "omit them"),
            (("ports.http=80",), "ports"),
            (("image.digest=latest",), "digest"),
            (("rules.source=git",), "source"),
            (("networkPolicy.clients[0].podSelctor=a",), "podSelctor"),
            (("podDisruptionBudget.maxUnavailable=0",), "maxUnavailable"),
        ):  # fmt: skip
            with self.subTest(arguments=arguments):
                refused = helm("template", *arguments)
                self.assertNotEqual(refused.returncode, 0)
                self.assertIn(reason, refused.stderr)
        self.assertIn("kubeVersion", helm("template", version="1.26.0").stderr)


if __name__ == "__main__":
    unittest.main()
