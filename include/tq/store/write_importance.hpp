// SPDX-License-Identifier: MIT
#pragma once
// write_importance: importance matrices in the files of llama-imatrix.

#include <tq/bodies.hpp>
#include <tq/files/atomic_file.hpp>
#include <tq/store/importance_sums.hpp>

#include <cstdint>
#include <filesystem>

namespace tq {

/// The files of llama-imatrix: GGUF, with sums and counts; or the older one (.dat), with means.
enum class ImportanceForm : std::uint8_t { gguf, dat };

/// Writes an importance matrix that `read_importance`, llama-imatrix and llama-quantize read. Both
/// forms are read back as the same means: those of sums and counts in float32. The older form
/// leaves out weights without tokens; its numbers of chunks are rounded up to powers of two, so
/// that means times chunks keep their bits. The file appears whole or not at all. Throws:
/// `errc::no_data` without weights that saw tokens; `errc::bad_argument` for weights whose sums are
/// not those of their counts, and, in the GGUF form, for names of more than 55
/// bytes; `errc::out_of_range` for sums
/// that float32 cannot hold; `errc::io_failure`. Source: llama.cpp, tools/imatrix/imatrix.cpp.
TQ_API void write_importance(const std::filesystem::path& file, const ImportanceSums& importance,
                             ImportanceForm form = ImportanceForm::gguf,
                             io::Links links = io::Links::followed);

}  // namespace tq

#ifndef TQ_FILE_LIBRARY
#include <tq/store/write_importance.ipp>
#endif
