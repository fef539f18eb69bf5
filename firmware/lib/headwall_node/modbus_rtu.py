"""Frames of a Modbus RTU master: read requests out, checked replies in.

Source: MODBUS over Serial Line V1.02 (frame, CRC in 6.2.2, silence in 2.5.1.1) and MODBUS Application Protocol V1.1b3
(functions 6.3 and 6.4, exceptions 7).
"""

import struct

REPLY_HEAD = 5  # slave, function, count of bytes, CRC: what a reply has beside its data; an exception is so long


def crc16(data):
    """CRC-16 of the serial line: polynomial A001 reflected, start FFFF."""
    crc = 0xFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ 0xA001 if crc & 1 else crc >> 1
    return crc


def request(slave, function, register, count):
    """The frame that asks for `count` registers from `register` on."""
    head = struct.pack(">BBHH", slave, function, register, count)
    return head + struct.pack("<H", crc16(head))


def find_reply(data, asked):
    """What a reply to the frame `asked` says, in the bytes that came since it was sent.

    Returns (registers' bytes, None), (None, exception code), or (None, None) where there is no whole reply. In front of
    it the request's own echo may stand.
    """
    found = _reply_at(data, 0, asked)
    if found == (None, None) and data[: len(asked)] == asked:
        return _reply_at(data, len(asked), asked)
    return found


def _reply_at(data, at, asked):
    size = 2 * asked[5]
    if data[at : at + 2] == bytes((asked[0], asked[1] | 0x80)) and _is_whole(data, at, REPLY_HEAD):
        return None, data[at + 2]
    if data[at : at + 3] == bytes((asked[0], asked[1], size)) and _is_whole(data, at, REPLY_HEAD + size):
        return bytes(data[at + 3 : at + 3 + size]), None
    return None, None


def _is_whole(data, at, size):
    end = at + size
    return len(data) >= end and struct.unpack_from("<H", data, end - 2)[0] == crc16(data[at : end - 2])


def in_order(data, order):
    """The bytes of a value as they came, put into the order big end first; order tells where a, b, c, d stand."""
    if len(data) == 2:
        return data if order == "abcd" else bytes((data[1], data[0]))
    return bytes(data[order.index(letter)] for letter in "abcd")
