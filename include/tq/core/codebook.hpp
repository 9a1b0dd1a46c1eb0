// SPDX-License-Identifier: MIT
#pragma once
// Code books as element types: the published ones, and a user's own table.

#include <tq/core/element.hpp>
#include <tq/numeric/codebook_format.hpp>
#include <tq/numeric/codebooks.hpp>

#include <string_view>

namespace tq {

/// Codes are indices into `Table::values`, see `CodebookTable`. Scales map the largest magnitude of
/// a block to that of the table.
///     struct my_table {
///       static constexpr std::string_view name = "mine";
///       static constexpr std::array<float, 4> values{-1.0f, -0.25f, 0.25f, 1.0f};
///     };
///     using mine = tq::Codebook<my_table>;
template <CodebookTable Table>
struct Codebook : detail::coded_element<CodebookFormat<Table>> {
  static constexpr std::string_view name = Table::name;
};

using nf4 = Codebook<codebooks::nf4>;
using bnb_fp4 = Codebook<codebooks::fp4>;
using iq4_nl = Codebook<codebooks::iq4_nl>;
using dynamic8 = Codebook<codebooks::dynamic8>;
/// {-1, +1} in one bit.
using binary = Codebook<codebooks::binary>;

}  // namespace tq
