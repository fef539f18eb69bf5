"""The node's half of the wire contract; a test compares it with the gateway's contract.json."""

TOPIC_ROOT = "headwall/v1"
PACK_BYTES = 8192
PACK_RECORDS = 200
WINDOW_PACKS = 4
POISON_TRIES = 5
NODE_ID_CHARS = 32
NAME_CHARS = 32
UPDATE_BYTES = 1024

BASE_NAME = "urn:dev:mac:"  # then the MAC and a colon
NULL_SUFFIX = ":null"
RAW_NAME = "raw"

#: quantity (the part of a stream's name behind the last dot) and its SenML unit; text, since a dictionary takes 2 KB
UNITS = (
    " tips=count level=m distance=m velocity=m/s flow=m3/s temperature=Cel pressure=Pa humidity=%RH "
    "voltage=V current=A turbidity=NTU conductivity=S/m ph=pH battery=%EL frequency=1/s pulses=count "
    "volume=m3 uncertainty=m confidence=/ "
)

#: a record on flash holds the index: only ever append to this tuple
NULL_REASONS = (
    "no_signal",
    "no_echo",
    "out_of_range",
    "stuck",
    "bad_frame",
    "not_ready",
    "fault",
    "saturated",
    "blind_zone",
    "low_confidence",
    "disagree",
    "no_layer",
)


def topic(node, kind):
    """The topic of one kind for one node."""
    return "%s/%s/%s" % (TOPIC_ROOT, node, kind)


def unit(stream):
    """The SenML unit of a stream such as "rain.tips"; None for a quantity that the contract lacks."""
    word = " " + stream[stream.rfind(".") + 1 :] + "="
    at = UNITS.find(word)
    return None if at < 0 else UNITS[at + len(word) : UNITS.find(" ", at + 1)]
