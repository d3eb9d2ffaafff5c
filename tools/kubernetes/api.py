"""The API server, asked over HTTPS with a token."""

import http.client
import json
import ssl

# Where objects of a kind are, within a namespace or not.
PLACES = {
    "ConfigMap": ("/api/v1", "configmaps"),
    "Event": ("/api/v1", "events"),
    "Job": ("/apis/batch/v1", "jobs"),
    "Namespace": ("/api/v1", None),
    "NetworkPolicy": ("/apis/networking.k8s.io/v1", "networkpolicies"),
    "Pod": ("/api/v1", "pods"),
    "Secret": ("/api/v1", "secrets"),
    "Service": ("/api/v1", "services"),
    "StatefulSet": ("/apis/apps/v1", "statefulsets"),
}


class Refused(Exception):
    """What the server says instead of doing it."""

    def __init__(self, status, body):
        super().__init__(f"{status}: {body.get('message', body)}")
        self.status = status


class Api:
    """Each call has a connection of its own, so that threads share nothing."""

    def __init__(self, port, token):
        self.port, self.token = port, token

    def call(self, method, path, body=None, kind="application/json"):
        # A certificate that the server made for itself.
        context = ssl._create_unverified_context()
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=30, context=context)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": kind}
        text = json.dumps(body) if body is not None else None
        connection.request(method, path, text, headers)
        answer = connection.getresponse()
        told = json.loads(answer.read() or b"{}")
        connection.close()
        if answer.status >= 300:
            raise Refused(answer.status, told)
        return told

    def path(self, kind, namespace, name=None):
        root, plural = PLACES[kind]
        if plural is None:
            return f"{root}/namespaces/{name}"
        return f"{root}/namespaces/{namespace}/{plural}" + (f"/{name}" if name else "")

    def get(self, kind, namespace, name):
        return self.call("GET", self.path(kind, namespace, name))

    def all(self, kind, namespace):
        return self.call("GET", self.path(kind, namespace))["items"]

    def apply(self, thing, namespace):
        """As kubectl apply --server-side does; a field that the server does not know is refused."""
        namespace = thing["metadata"].get("namespace", namespace)
        path = self.path(thing["kind"], namespace, thing["metadata"]["name"])
        query = "?fieldManager=test&fieldValidation=Strict"
        # JSON is YAML.
        return self.call("PATCH", path + query, thing, "application/apply-patch+yaml")

    def set_status(self, path, status):
        return self.call("PATCH", path + "/status", {"status": status}, "application/merge-patch+json")
