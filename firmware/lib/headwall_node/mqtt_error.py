"""The one exception of the MQTT client: why there is no connection, in words."""


class MqttError(Exception):
    """A connection that did not come about or ended.

    kind: refused (nobody listens, or a broker that declines) · bad_credentials · wrong_cert (the node's) · wrong_ca,
    wrong_name, expired, not_yet_valid, tls (the broker could not prove who it is) · timeout (an answer is overdue) ·
    closed · protocol (not MQTT 3.1.1) · no_memory. The text says where and why.
    """

    def __init__(self, kind, text):
        super().__init__(text)
        self.kind = kind
