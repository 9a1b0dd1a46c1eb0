// SPDX-License-Identifier: MIT
#pragma once
// CheckpointFormat: how another program stores quantized weights, as one struct.

#include <tq/checkpoints/checkpoint_parts.hpp>
#include <tq/checkpoints/checkpoint_search.hpp>
#include <tq/checkpoints/checkpoint_tensor.hpp>
#include <tq/containers/tensor.hpp>

#include <concepts>
#include <span>
#include <string_view>

namespace tq::io {

/// How another program stores quantized weights: how a weight is found among the tensors of a file,
/// and what is made of its parts. Smallest model:
///
///     struct ScaledRows {  // W int8 [N, K] and W.row_scale float32 [N]
///       static constexpr std::string_view name = "scaled_rows";
///       // Endings of names: every weight has a tensor with such a name.
///       static constexpr std::array<std::string_view, 1> marks{".row_scale"};
///       // Only parts of weights have these; a tensor of no weight here is left alone.
///       static constexpr std::array<std::string_view, 1> part_names{".row_scale"};
///       // Takes the weight that `t` is part of; false where it is part of none of this format.
///       static bool find(tq::io::CheckpointSearch& search, const tq::io::TensorInfo& t) {
///         if (!search.contains(t.name + ".row_scale")) return false;
///         search.take(t.name, name, {{"weight", t.name}, {"scales", t.name + ".row_scale"}},
///                     [&](tq::io::CheckpointCandidate& found) {
///                       if (!found.require_matrix(t, tq::io::DType::i8)) return;
///                       found.require("scales", tq::io::DType::f32, {t.shape[0]});
///                       found.weight.shape = t.shape;
///                       found.weight.scheme = "int8 with scales of rows";
///                     });
///         return true;
///       }
///       // The weight as tq holds it, with its input order where it has one.
///       template <tq::Backend B>
///       static tq::CheckpointTensor load(const tq::io::CheckpointParts<B>& parts) {
///         tq::CheckpointTensor out;  // of int8, per channel
///         out.tensor.shape = tq::Shape(std::span<const std::size_t>(parts.weight().shape));
///         out.tensor.codes = parts.codes("weight");
///         out.tensor.scales = tq::Scales<float>(parts.floats("scales"));
///         return out;
///       }
///       // Formats that are written also have `declarations` and `save` (`WritableFormat`).
///     };
/// `all_checkpoint_formats` lists those of tq; a program that has others names its own list:
///
///     find_quantized<tq::Joined<tq::TypeList<ScaledRows>, all_checkpoint_formats>>(tensors, read)
template <class F>
concept CheckpointFormat =
    requires(CheckpointSearch& search, const TensorInfo& t, const CheckpointParts<>& parts) {
      { F::name } -> std::convertible_to<std::string_view>;
      { F::marks } -> std::convertible_to<std::span<const std::string_view>>;
      { F::part_names } -> std::convertible_to<std::span<const std::string_view>>;
      { F::find(search, t) } -> std::same_as<bool>;
      { F::load(parts) } -> std::same_as<CheckpointTensor>;
    };

}  // namespace tq::io
