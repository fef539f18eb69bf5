"""`headwall board bundle`: the signing key, and bundles for updates over the air."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from headwall.errors import InputError
from headwall.wire.bundle import read_bundle

from headwall_board import bundle
from headwall_board.bench import FirmwareOption, JsonOption, bar, compiled_release


def register(app: typer.Typer) -> None:
    group = typer.Typer(no_args_is_help=True, help="Signed bundles for an update over the air.")
    group.command("key")(key)
    group.command("make")(make)
    group.command("show")(show)
    app.add_typer(group, name="bundle")


def key(
    folder: Annotated[Path, typer.Argument(help="where the two files go")] = Path(), as_json: JsonOption = False
) -> None:
    """Make the key that signs bundles. Once for all boards."""
    bundle.make_key(folder)
    if as_json:
        print(json.dumps({"public": str(folder / bundle.PUBLIC), "private": str(folder / bundle.PRIVATE)}))
        return
    print(f"boards: {folder / bundle.PUBLIC}, with: headwall board provision --update-key {folder / bundle.PUBLIC}")
    print(f"keep to yourself: {folder / bundle.PRIVATE}; whoever has it can put any program on your boards")


def make(
    out: Annotated[Path, typer.Argument(help="the file to write")],
    signing: Annotated[Path, typer.Option("--key", help="the signing key")] = Path(bundle.PRIVATE),
    chip: Annotated[str, typer.Option("--chip", help="esp32, esp32s3, …; linux for simulated boards")] = "esp32",
    firmware: FirmwareOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compile and sign the node's program."""
    private = bundle.read_private(signing)
    with bar(hidden=as_json) as shown:
        release = compiled_release(firmware, shown)
    data = bundle.make_bundle(release, chip, private)
    out.write_bytes(data)
    made = read_bundle(data, str(out))
    if as_json:
        print(json.dumps({"bundle": made.name, "version": release.version, "chip": chip, "size": len(data)}))
    else:
        print(f"{out}: version {release.version} for {chip}, {len(made.head.files)} files, {len(data)} bytes")


def show(
    file: Annotated[Path, typer.Argument(help="a bundle")],
    public: Annotated[Path | None, typer.Option("--key", help="update.key of the boards it is for")] = None,
    as_json: JsonOption = False,
) -> None:
    """Tell what a bundle holds, and whether boards with a key take its signature (exit 1: they do not)."""
    try:
        data = file.read_bytes()
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}") from None
    found = read_bundle(data, str(file))
    signed = None if public is None else bundle.is_signed(found, public)
    head = found.head
    if as_json:
        files = [{"path": each.path, "size": each.size, "sha256": each.sha256.hex()} for each in head.files]
        told = {"bundle": found.name, "version": head.version, "chip": head.chip, "mpy": head.mpy, "size": head.size}
        print(json.dumps({**told, "signed": signed, "files": files}))
    else:
        print(f"{file}: version {head.version} for {head.chip}, .mpy version {head.mpy}, {head.size} bytes")
        print(f"bundle {found.name}")
        if signed is not None:
            print("signature: " + ("good" if signed else f"BAD: not made with the key of {public}"))
        for each in head.files:
            print(f"  {each.size:6} {each.path}")
    if signed is False:
        raise typer.Exit(1)
