// SPDX-License-Identifier: MIT
#pragma once
// Rows of embeddings, by an instruction set of the compiler flags or by the kernel library.

#include <tq/kernels/embedding_row.hpp>
#include <tq/linear/default_arch.hpp>

#include <cstddef>
#include <cstdint>

namespace tq::kernel_library {

/// As `kernels::add_embedding_row`.
using EmbeddingFunction = void (*)(const std::uint8_t* codes, std::size_t width, float scale,
                                   float bias, float* sums) noexcept;

/// Rows of codes of 8, 4 and 2 bits.
struct EmbeddingRows {
  EmbeddingFunction of_8, of_4, of_2;
};

/// The functions of the instruction set that runs.
[[nodiscard]] const EmbeddingRows& embedding_rows() noexcept;

// The table of an instruction set; only files that tq_add_kernels makes call it.
template <class Arch>
constexpr EmbeddingRows embedding_rows_of() noexcept {
  return {&kernels::add_embedding_row<Arch, 8>, &kernels::add_embedding_row<Arch, 4>,
          &kernels::add_embedding_row<Arch, 2>};
}

}  // namespace tq::kernel_library

namespace tq::detail {

// `kernels::add_embedding_row` of an instruction set, as an object that is made once for many rows.
template <class Arch, int Bits>
struct EmbeddingRow {
  void operator()(const std::uint8_t* codes, std::size_t width, float scale, float bias,
                  float* sums) const noexcept {
    kernels::add_embedding_row<Arch, Bits>(codes, width, scale, bias, sums);
  }
};
template <int Bits>
struct EmbeddingRow<kernel_library::Running, Bits> {
  kernel_library::EmbeddingFunction of = Bits == 8   ? kernel_library::embedding_rows().of_8
                                         : Bits == 4 ? kernel_library::embedding_rows().of_4
                                                     : kernel_library::embedding_rows().of_2;
  void operator()(const std::uint8_t* codes, std::size_t width, float scale, float bias,
                  float* sums) const noexcept {
    of(codes, width, scale, bias, sums);
  }
};

}  // namespace tq::detail
