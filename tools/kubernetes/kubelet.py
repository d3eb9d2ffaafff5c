"""A kubelet that is none: pods that are bound to its nodes become processes of this machine.

It fills in variables, Secrets and ConfigMaps, mounts a volume by writing the folder's name in the place of the path, sends SIGTERM when a
pod is deleted and SIGKILL when its grace period is over, and reports how each process ended. There are no containers: limits of processors
and memory, users, the read-only root and network policies are accepted by the API server and enforced by nobody here.
"""

import base64
import datetime
import os
import pathlib
import re
import signal
import subprocess
import threading
import time
import traceback

from api import Refused


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class Kubelet(threading.Thread):
    def __init__(self, api, nodes, programs, names, folder):
        """`programs` by image; `names` are texts of the cluster's network and what stands for them here."""
        super().__init__(daemon=True)
        self.api, self.nodes, self.programs, self.names = api, nodes, programs, names
        self.folder, self.running, self.is_over = pathlib.Path(folder), {}, False

    def join_cluster(self):
        for name in self.nodes:
            labels = {"kubernetes.io/hostname": name}
            node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
            self.api.call("POST", "/api/v1/nodes", node)
            room = {"cpu": "8", "memory": "32Gi", "pods": "110"}
            ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "lastHeartbeatTime": now()}
            status = {"capacity": room, "allocatable": room, "conditions": [ready]}
            self.api.set_status(f"/api/v1/nodes/{name}", status)
        self.start()

    def run(self):
        try:
            self.look()
        except Exception:
            # Without it nothing would go on.
            traceback.print_exc()
            os._exit(1)
        finally:
            for process, _ in self.running.values():
                process.kill()

    def look(self):
        while not self.is_over:
            for pod in self.api.call("GET", "/api/v1/pods")["items"]:
                if pod["spec"].get("nodeName") in self.nodes:
                    try:
                        self.look_at(pod)
                    except Refused as why:
                        # Somebody else was faster: it is looked at again.
                        if why.status not in (404, 409):
                            raise
            time.sleep(0.1)

    def look_at(self, pod):
        uid = pod["metadata"]["uid"]
        process, told_to_go = self.running.get(uid, (None, None))
        is_leaving = "deletionTimestamp" in pod["metadata"]
        if process is None:
            if is_leaving:
                self.forget(pod)
            elif pod["status"]["phase"] == "Pending":
                self.running[uid] = (self.begin(pod), None)
                self.tell(pod, "Running", {"running": {"startedAt": now()}})
            return
        code = process.poll()
        if code is not None:
            # As a shell counts signals.
            code = code if code >= 0 else 128 - code
            if pod["status"]["phase"] == "Running":
                ended = {"exitCode": code, "startedAt": now(), "finishedAt": now()}
                self.tell(pod, "Failed" if code else "Succeeded", {"terminated": ended})
            if is_leaving:
                self.forget(pod)
        elif is_leaving and told_to_go is None:
            process.send_signal(signal.SIGTERM)
            self.running[uid] = (process, time.monotonic() + pod["metadata"]["deletionGracePeriodSeconds"])
        elif told_to_go is not None and time.monotonic() > told_to_go:
            process.kill()

    def begin(self, pod):
        container = pod["spec"]["containers"][0]
        folder = self.folder / pod["metadata"]["name"]
        variables = self.variables(pod, container)
        mounts = {mount["mountPath"]: self.volume(pod, mount["name"], folder) for mount in container["volumeMounts"]}
        words = container.get("command", [])[1:] + container.get("args", [])
        words = [self.here(self.expanded(word, variables), mounts) for word in words]
        for path in mounts.values():
            for file in (file for file in path.rglob("*.conf") if file.is_file()):
                file.write_text(self.here(file.read_text(), mounts, '"'))
        (folder / "root").mkdir(parents=True)
        place = self.here(container.get("workingDir", str(folder / "root")), mounts)
        variables = {name: self.here(value, mounts) for name, value in variables.items()}
        out, err = (open(folder / name, "wb") for name in ("stdout", "stderr"))
        return subprocess.Popen([self.programs[container["image"]], *words], cwd=place, stdin=subprocess.DEVNULL,
                                stdout=out, stderr=err, env={"HOME": str(folder / "root"), **variables})

    def variables(self, pod, container):
        meta, found = pod["metadata"], {}
        for source in container.get("envFrom", []):
            found.update(self.secret(meta["namespace"], source["secretRef"]["name"]))
        for variable in container.get("env", []):
            source, value = variable.get("valueFrom", {}), variable.get("value", "")
            if "fieldRef" in source:
                path = source["fieldRef"]["fieldPath"].removeprefix("metadata.")
                inner = re.fullmatch(r"(labels|annotations)\['(.*)'\]", path)
                value = meta[inner[1]][inner[2]] if inner else meta[path]
            elif "secretKeyRef" in source:
                wanted = source["secretKeyRef"]
                value = self.secret(meta["namespace"], wanted["name"])[wanted["key"]]
            found[variable["name"]] = value
        return found

    def secret(self, namespace, name):
        data = self.api.get("Secret", namespace, name)["data"]
        return {key: base64.b64decode(value).decode() for key, value in data.items()}

    def volume(self, pod, name, folder):
        """Writes what the volume holds. Gives its folder."""
        volume = next(volume for volume in pod["spec"]["volumes"] if volume["name"] == name)
        namespace, place = pod["metadata"]["namespace"], folder / name
        place.mkdir(parents=True)
        source = volume.get("secret") or volume.get("configMap") or {}
        if "secret" in volume:
            data = self.secret(namespace, source["secretName"])
        elif "configMap" in volume:
            data = self.api.get("ConfigMap", namespace, source["name"])["data"]
        else:
            data = {}
        paths = {item["key"]: item["path"] for item in source.get("items", [])} or {key: key for key in data}
        for key, path in paths.items():
            (place / path).parent.mkdir(parents=True, exist_ok=True)
            (place / path).write_text(data[key])
        return place

    def expanded(self, word, variables):
        """$(NAME), and $$ for $."""
        return re.sub(r"\$\$|\$\((\w+)\)", lambda at: variables.get(at[1], at[0]) if at[1] else "$", word)

    def here(self, text, mounts, before=""):
        for name, own in self.names.items():
            text = text.replace(name, own)
        for path, own in mounts.items():
            start = re.escape(before) if before else "^"
            text = re.sub(f"{start}{re.escape(path)}(?=[/\"]|$)", f"{before}{own}", text)
        return text

    def tell(self, pod, phase, state):
        is_up = "running" in state
        container = pod["spec"]["containers"][0]
        status = {"name": container["name"], "state": state, "ready": is_up, "started": is_up, "restartCount": 0,
                  "image": container["image"], "imageID": container["image"]}
        ready = {"type": "Ready", "status": "True" if is_up else "False", "lastTransitionTime": now()}
        told = {"phase": phase, "startTime": now(), "conditions": [ready], "containerStatuses": [status]}
        self.api.set_status(self.path(pod), told)

    def forget(self, pod):
        self.api.call("DELETE", self.path(pod) + "?gracePeriodSeconds=0")

    def path(self, pod):
        return self.api.path("Pod", pod["metadata"]["namespace"], pod["metadata"]["name"])

    def kill(self, pod):
        """As a machine that is gone, but for somebody who says so."""
        os.kill(self.running[pod["metadata"]["uid"]][0].pid, signal.SIGKILL)
