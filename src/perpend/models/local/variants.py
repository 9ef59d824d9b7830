"""Variants of a GGUF file: the same weights with every matrix stored in another precision.

So a sweep over real variants of one model is possible on any machine. A variant cannot be better than its source: F16
of a file in 4 bits holds the 4-bit weights, and differs only in what is rounded while computing with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from perpend.disk import temporary_folder
from perpend.errors import ModelError, SpecError, did_you_mean
from perpend.models.local.weights import find_weights

if TYPE_CHECKING:
    import gguf

KINDS = ("f16", "q8_0", "q4_0")
_FILE_TYPE = "general.file_type"
# llama.cpp's own quantiser keeps these above 4 bits too: every token's probability goes through them.
_KEPT_AT_8_BITS = frozenset({"token_embd.weight", "output.weight"})


def make_variants(name: str, folder: str | Path = "variants", kinds: Sequence[str] = KINDS) -> dict[str, Path]:
    """Write `<stem>.<KIND>.gguf` for each kind into a folder, by kind; the same bytes each time, from the same source.

    `name` is what follows 'local/' in a model's name: 'smollm2' or the path of a GGUF file.
    """
    for kind in kinds:
        if kind not in KINDS:
            raise SpecError(f"unknown precision {kind!r}; {did_you_mean(kind, KINDS)}")
    source = find_weights(name)
    try:
        import gguf
    except ModuleNotFoundError:
        raise ModelError("variants need the gguf package; run: pip install 'perpend[local]'") from None
    stem = source.name.removesuffix(".gguf").partition(".")[0]
    paths = {kind: Path(folder) / f"{stem}.{kind.upper()}.gguf" for kind in kinds}
    for path in paths.values():
        if path.exists() and path.samefile(source):
            raise SpecError(f"{path}: is the source itself; choose another folder")
    # Each file whole or not at all: some hundred megabytes that a Ctrl-C must not leave half written.
    with temporary_folder("variants", Path(folder)) as tmpdir:
        try:
            reader = gguf.GGUFReader(source)
        except ValueError as error:
            raise ModelError(f"{source.name}: not a GGUF file that can be read: {error}") from None
        for kind, path in paths.items():
            _write(reader, kind, tmpdir / path.name)
            (tmpdir / path.name).replace(path)
    return paths


def _write(reader: gguf.GGUFReader, kind: str, path: Path) -> None:
    import gguf
    import numpy as np

    # Every key keeps its value and place; only the file type, which names the precision, is the variant's own.
    types = {"f16": gguf.LlamaFileType.MOSTLY_F16, "q8_0": gguf.LlamaFileType.MOSTLY_Q8_0}
    file_type = types.get(kind, gguf.LlamaFileType.MOSTLY_Q4_0)
    architecture = reader.fields[gguf.Keys.General.ARCHITECTURE].contents()
    writer = gguf.GGUFWriter(path, str(architecture))
    for field in reader.fields.values():
        if field.name == gguf.Keys.General.ARCHITECTURE or field.name.startswith("GGUF."):
            continue
        inner = field.types[-1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
        value = int(file_type) if field.name == _FILE_TYPE else field.contents()
        writer.add_key_value(field.name, value, field.types[0], sub_type=inner)
    stored = [_precision(tensor, kind) for tensor in reader.tensors]
    for tensor, precision in zip(reader.tensors, stored, strict=True):
        shape = tuple(int(size) for size in reversed(tensor.shape))
        block, size = gguf.GGML_QUANT_SIZES[precision]
        writer.add_tensor_info(tensor.name, shape, np.dtype(np.float32), tensor.n_elements // block * size, precision)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    for tensor, precision in zip(reader.tensors, stored, strict=True):
        data = tensor.data
        if precision != tensor.tensor_type:
            data = gguf.quantize(gguf.dequantize(tensor.data, tensor.tensor_type), precision)
        writer.write_tensor_data(data)
    writer.close()


def _precision(tensor: gguf.ReaderTensor, kind: str) -> gguf.GGMLQuantizationType:
    """Matrices in the variant's precision; vectors, and rows that do not divide into blocks, as they are stored."""
    import gguf

    precise = kind == "q4_0" and tensor.name in _KEPT_AT_8_BITS
    wanted = gguf.GGMLQuantizationType["Q8_0" if precise else kind.upper()]
    block, _ = gguf.GGML_QUANT_SIZES[wanted]
    is_matrix = len(tensor.shape) > 1 and int(tensor.shape[0]) % block == 0
    return wanted if is_matrix else tensor.tensor_type
