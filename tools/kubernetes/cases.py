"""Runs of agents on a cluster whose API server, controllers and scheduler are real. Started by tools/test-kubernetes.

    cases.py UNBLINK NATS_SERVER API_PORT TOKEN FOLDER
"""

import json
import pathlib
import socket
import subprocess
import sys
import time

import yaml
from api import Api, Refused
from kubelet import Kubelet

BEGUN = time.monotonic()
NAMESPACE = "load"


def say(text):
    print(f"{time.monotonic() - BEGUN:6.1f} s  {text}", flush=True)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def until(what, found, seconds=120):
    """What is found, once it is something."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = found()
        if value:
            return value
        time.sleep(0.1)
    raise SystemExit(f"this did not come within {seconds} s: {what}")


def counts(arrivals):
    return ", ".join(f"{name} {count}" for name, count in arrivals.items() if count)


class Cases:
    def __init__(self, unblink, nats, port, token, folder):
        self.unblink, self.folder = unblink, pathlib.Path(folder)
        self.api = Api(int(port), token)
        bus, target = free_port(), free_port()
        self.target = f"http://127.0.0.1:{target}/"
        serve = [unblink, "lab", "serve", "--scenario", "healthy", "--listen", f"127.0.0.1:{target}"]
        log = open(self.folder / "target.log", "wb")
        self.server = subprocess.Popen(serve, stdout=log, stderr=log)
        programs = {"unblink": unblink, "nats:2.15.2-alpine": nats}
        here = f"127.0.0.1:{bus}"
        names = {f"{run}-bus:4222": here for run in ("whole", "deleted", "killed")} | {"0.0.0.0:4222": here}
        self.kubelet = Kubelet(self.api, ["node-1", "node-2", "node-3"], programs, names, self.folder / "pods")
        self.kubelet.join_cluster()
        say("3 nodes have joined")

    def end(self):
        self.kubelet.is_over = True
        self.kubelet.join()
        self.server.kill()

    def render(self, name, agents, *more):
        """unblink k8s render … | kubectl apply -f -"""
        plan = self.folder / "shop.toml"
        plan.write_text('target = "http://shop.test/"\n[load]\nrate = 400\narrivals = "poisson"\nduration = "5s"\n'
                        '[let]\nuser = "csv(users.csv)"\n[[requests]]\nurl = "/items?by={{user.id}}"\n')
        (self.folder / "users.csv").write_text("id\nanne\nbob\ncleo\n")
        words = ["k8s", "render", "shop.toml", self.target, "--agents", str(agents), "--name", name, "--json",
                 "--namespace", NAMESPACE, "--create-namespace", *more]
        said = subprocess.run([self.unblink, *words], cwd=self.folder, check=True, capture_output=True, text=True)
        objects = [one for one in yaml.safe_load_all(said.stdout) if one]
        for one in objects:
            self.api.apply(one, NAMESPACE)
        say(f"{name}: {len(objects)} objects are applied")

    def pods(self, name, part):
        def is_own(pod):
            labels = pod["metadata"]["labels"]
            return [labels["app.kubernetes.io/" + key] for key in ("instance", "component")] == [name, part]

        return [pod for pod in self.api.all("Pod", NAMESPACE) if is_own(pod)]

    def job(self, name):
        return self.api.get("Job", NAMESPACE, name)

    def ended(self, name):
        """How a Job has ended: its last condition, and its status."""

        def found():
            status = self.job(name).get("status", {})
            kinds = [one["type"] for one in status.get("conditions", []) if one["status"] == "True"]
            last = next((kind for kind in kinds if kind in ("Complete", "Failed")), None)
            return last and (last, status)

        kind, status = until(f"{name} is over", found)
        kept = {key: status[key] for key in ("succeeded", "failed", "completedIndexes", "failedIndexes") if status.get(key)}
        say(f"{name}: {kind} {json.dumps(kept)}")
        return kind, status

    def until_under_way(self, name, sent):
        """Waits until the agents have offered so much, as their folders say."""

        def all_have():
            files = list((self.folder / "pods").glob(f"{name}-agents-*/runs/*/intervals.jsonl"))
            lines = [sum(1 for _ in open(file)) for file in files]
            return len(lines) == len(self.pods(name, "agent")) and all(count > sent for count in lines)

        until(f"{name} is under way", all_have)

    def result(self, name):
        """What the coordinator's pod has printed, and its exit code."""
        pod = self.pods(name, "coordinator")[0]
        folder = self.folder / "pods" / pod["metadata"]["name"]
        state = pod["status"]["containerStatuses"][0]["state"]["terminated"]
        text = (folder / "stdout").read_text()
        if not text:
            raise SystemExit(f"{name}: exit {state['exitCode']}: " + (folder / "stderr").read_text())
        return json.loads(text), state["exitCode"]

    def check_code(self, condition, code):
        """A Job fails where its run does. A run that the machine disturbed is invalid (3), which is not what is tested."""
        assert (condition, code) in (("Complete", 0), ("Failed", 3)), (condition, code)

    def codes(self, name):
        """The exit code of the pod of each index."""
        index = "batch.kubernetes.io/job-completion-index"
        return {pod["metadata"]["annotations"][index]:
                pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"]
                for pod in self.pods(name, "agent")}

    def delete(self, name):
        """kubectl delete … -l app.kubernetes.io/instance=NAME"""
        for kind in ("Job", "StatefulSet", "Service", "ConfigMap", "Secret", "NetworkPolicy"):
            for one in self.api.all(kind, NAMESPACE):
                if one["metadata"].get("labels", {}).get("app.kubernetes.io/instance") == name:
                    path = self.api.path(kind, NAMESPACE, one["metadata"]["name"])
                    self.api.call("DELETE", path + "?propagationPolicy=Background")
        until(f"{name} is gone", lambda: not [pod for part in ("agent", "coordinator", "bus") for pod in self.pods(name, part)])
        say(f"{name}: all of it is deleted")


def whole(cases):
    """Four agents offer what one machine would, and both Jobs complete."""
    cases.render("whole", 4)
    run, _ = cases.ended("whole-run")
    kind, status = cases.ended("whole-agents")
    assert (kind, status["completedIndexes"]) == ("Complete", "0-3"), status
    document, code = cases.result("whole")
    arrivals, validity = document["arrivals"], document["validity"]["status"]
    say(f"whole: exit {code}, {validity}, {len(document['agents'])} agents: {counts(arrivals)}")
    # Of the machine, and not of what is tested.
    for one in (one for one in document["validity"]["findings"] if one["severity"] != "note"):
        say(f"whole: {one['message']}")
    # The same seed on one machine.
    alone = subprocess.run([cases.unblink, "run", "shop.toml", cases.target, "--json", "-o", "alone", "--no-store"],
                           cwd=cases.folder, check=False, capture_output=True, text=True)
    scheduled = json.loads(alone.stdout)["arrivals"]["scheduled"]
    say(f"whole: one machine has {scheduled} arrivals scheduled")
    cases.check_code(run, code)
    assert arrivals["scheduled"] == arrivals["ok"] == scheduled, arrivals
    assert len(document["agents"]) == 4
    nodes = [pod["spec"]["nodeName"] for pod in cases.pods("whole", "agent")]
    say(f"whole: the agents were on {', '.join(sorted(nodes))}")
    # Where bus and coordinator came first, one node is theirs.
    assert max(nodes.count(node) for node in nodes) <= 2, "they are spread"
    cases.delete("whole")


def deleted(cases):
    """Who deletes an agent's pod gets a degraded run and a failed index, and all that this agent had measured."""
    cases.render("deleted", 3, "-d", "12s")
    cases.until_under_way("deleted", 4)
    pod = next(pod for pod in cases.pods("deleted", "agent") if pod["metadata"]["name"].startswith("deleted-agents-1-"))
    cases.api.call("DELETE", cases.api.path("Pod", NAMESPACE, pod["metadata"]["name"]))
    say("deleted: the pod of index 1 is deleted")
    run, _ = cases.ended("deleted-run")
    kind, status = cases.ended("deleted-agents")
    assert (kind, status["failedIndexes"], status["completedIndexes"]) == ("Failed", "1", "0,2"), status
    document, code = cases.result("deleted")
    arrivals, found = document["arrivals"], document["validity"]["findings"]
    stopped = next(one for one in found if one["code"] == "agents_lost")
    say(f"deleted: exit {code}, {document['validity']['status']}: {counts(arrivals)}")
    say(f"deleted: {stopped['message']}")
    cases.check_code(run, code)
    assert stopped["severity"] == "degrades" and arrivals["ok"] + arrivals["withheld"] == arrivals["scheduled"]
    assert len(document["agents"]) == 3, "its record was sent"
    cases.delete("deleted")


def killed(cases):
    """An agent that dies without a word makes the run invalid, and both Jobs fail."""
    cases.render("killed", 3, "-d", "12s")
    cases.until_under_way("killed", 4)
    pod = next(pod for pod in cases.pods("killed", "agent") if pod["metadata"]["name"].startswith("killed-agents-2-"))
    cases.kubelet.kill(pod)
    say("killed: the process of index 2 is killed")
    assert cases.ended("killed-run")[0] == "Failed"
    kind, status = cases.ended("killed-agents")
    assert (kind, status["failedIndexes"], status["completedIndexes"]) == ("Failed", "2", "0,1"), status
    document, code = cases.result("killed")
    codes = cases.codes("killed")
    arrivals, validity = document["arrivals"], document["validity"]["status"]
    say(f"killed: exit {code}, {validity}: {counts(arrivals)}; exit codes of the agents {json.dumps(codes)}")
    assert (code, validity) == (3, "invalid") and arrivals["lost"] > 0
    assert codes == {"0": 0, "1": 0, "2": 137}
    cases.delete("killed")


def main():
    cases = Cases(*sys.argv[1:])
    try:
        for case in (whole, deleted, killed):
            case(cases)
        say("all is as it should be")
    except Refused as why:
        raise SystemExit(f"the API server refuses: {why}") from why
    finally:
        cases.end()


main()
