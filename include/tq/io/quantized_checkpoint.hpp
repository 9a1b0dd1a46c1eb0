// SPDX-License-Identifier: MIT
#pragma once
// QuantizedCheckpoint: which tensors of a file are the parts of weights that another program
// quantized.

#include <tq/error.hpp>
#include <tq/io/checkpoint_hints.hpp>
#include <tq/io/checkpoint_shapes.hpp>
#include <tq/io/checkpoint_weight.hpp>
#include <tq/io/json.hpp>
#include <tq/io/tensor.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tq::io {

/// A tensor that is no weight, although it may look like one.
struct LeftAlone {
  std::string reason;
  bool is_unreadable =
      false;  ///< part of a weight that cannot be read; the reason says what was expected
};

/// The quantized weights of a file, found by the names, types and shapes of its tensors.
struct QuantizedCheckpoint {
  std::vector<CheckpointWeight> weights;
  /// By name: scales of activations, and parts of weights that cannot be read or are not here.
  std::map<std::string, LeftAlone> left_alone;
};

namespace detail {

// Finds weights; a part belongs to one weight.
class CheckpointFinder {
 public:
  CheckpointFinder(std::span<const TensorInfo> tensors, const ReadTensor& read,
                   const CheckpointHints& hints)
      : read_(read), hints_(hints) {
    for (const TensorInfo& t : tensors) index_.emplace(t.name, &t);
    for (const TensorInfo& t : tensors) find(t);
    for (const TensorInfo& t : tensors) leave_rest(t);
  }
  [[nodiscard]] QuantizedCheckpoint result() && { return std::move(out_); }

 private:
  using Parts = std::initializer_list<std::pair<const char*, std::string>>;  // role, name

  // What the weight in hand cannot be read for; the first counts. Always false.
  bool problem(const std::string& text) {
    if (why_.empty()) why_ = text;
    return false;
  }
  bool misfit(const TensorInfo& t, const std::string& expected) {
    return problem(shown(t.name) + ": expected " + expected + ", got " +
                   std::string(to_string(t.dtype)) + " " + shape_text(t.shape));
  }

  [[nodiscard]] const TensorInfo* at(const std::string& name) const {
    const auto found = index_.find(name);
    return found == index_.end() ? nullptr : found->second;
  }
  // "layer." of "layer.weight".
  [[nodiscard]] static std::string stem(const std::string& name) {
    const std::size_t dot = name.rfind('.');
    return dot == name.npos ? "" : name.substr(0, dot + 1);
  }
  [[nodiscard]] static std::string leaf(const std::string& name) {
    return name.substr(stem(name).size());
  }
  [[nodiscard]] static bool is_float8(DType d) noexcept {
    return d == DType::f8_e4m3 || d == DType::f8_e5m2 || d == DType::f8_e4m3fnuz ||
           d == DType::f8_e5m2fnuz;
  }
  [[nodiscard]] static bool is_scale(DType d) noexcept {
    return d == DType::f32 || d == DType::f16 || d == DType::bf16 || d == DType::f8_e8m0;
  }
  [[nodiscard]] static std::size_t count(const TensorInfo& t) {
    return static_cast<std::size_t>(*element_count(t.shape));
  }
  // The type of the decoded weight: that of scales that are floats of a model.
  [[nodiscard]] static DType float_type(DType scales) noexcept {
    return scales == DType::f16 || scales == DType::bf16 ? scales : DType::f32;
  }

  [[nodiscard]] static CheckpointWeight weight_of(const std::string& name, CheckpointFormat format,
                                                  const std::vector<std::size_t>& shape = {}) {
    CheckpointWeight weight;
    weight.name = name;
    weight.format = format;
    weight.shape = shape;
    return weight;
  }
  // A weight whose parts are those that are there of `parts`; `fill` does the rest, or says by
  // problem() why it cannot be read. All parts are taken either way.
  template <class Fill>
  void take(CheckpointWeight weight, Parts parts, Fill&& fill) {
    for (const auto& [role, name] : parts)
      if (!name.empty() && at(name) != nullptr && !taken_.contains(name)) {
        weight.parts.emplace(role, name);
        taken_.insert(name);
      }
    why_.clear();
    fill(weight);
    const bool is_part = std::ranges::any_of(
        weight.parts, [&](const auto& part) { return part.second == weight.name; });
    if (!is_part && at(weight.name) != nullptr)
      problem("expected it in its parts only, got a tensor of that name as well");
    if (!storage_bytes(weight.dtype, weight.shape) || weight.shape.size() > std::size_t{max_rank})
      problem("expected a shape that memory can hold, got " + shape_text(weight.shape));
    const std::string base = stem(weight.name);
    if (!why_.empty())
      for (const auto& [role, name] : weight.parts)
        out_.left_alone.insert_or_assign(
            name, LeftAlone{"part of the quantized weight " + shown(weight.name) +
                                ", which cannot be read: " + why_,
                            true});
    else out_.weights.push_back(std::move(weight));
    for (const char* beside : {"input_scale", "output_scale", "scale_input", "input_zero_point",
                               "input_global_scale", "k_scale", "v_scale", "q_scale"})
      if (at(base + beside) != nullptr)
        out_.left_alone.emplace(base + beside, LeftAlone{"scales of activations", false});
  }

  // A part, or an empty one after a problem.
  [[nodiscard]] const TensorInfo& part(const CheckpointWeight& w, const char* role) {
    const auto found = w.parts.find(role);
    if (found != w.parts.end()) return *at(found->second);
    problem(std::string("expected a tensor of its ") + role + ", got none");
    return none_;
  }
  bool require(const CheckpointWeight& w, const char* role, DType dtype,
               const std::vector<std::size_t>& shape) {
    const TensorInfo& t = part(w, role);
    return (t.dtype == dtype && t.shape == shape) ||
           misfit(t, std::string(to_string(dtype)) + " " + shape_text(shape));
  }
  bool require_matrix(const TensorInfo& t, DType dtype) {
    return (t.dtype == dtype && t.shape.size() == 2 && count(t) != 0) ||
           misfit(t, std::string(to_string(dtype)) + " of two dimensions");
  }
  bool require_scale_type(const TensorInfo& t) {
    return is_scale(t.dtype) || misfit(t, "scales of F32, F16, BF16 or F8_E8M0");
  }

  bool require_groups(CheckpointWeight& w, std::size_t k, std::size_t groups) {
    w.group_size = checkpoint_group_size(k, groups, hints_.group_size);
    return w.group_size != 0 || w.parts.contains("g_idx") ||
           problem("expected a group size, got " + std::to_string(groups) + " groups of " +
                   std::to_string(k) + " inputs, which may be of several");
  }
  [[nodiscard]] static std::string groups_text(const CheckpointWeight& w, std::size_t k) {
    if (w.group_size == 0) return ", groups of g_idx";
    return w.group_size == k ? ", per channel" : ", groups of " + std::to_string(w.group_size);
  }

  void find(const TensorInfo& t) {
    if (taken_.contains(t.name)) return;
    const std::string& name = t.name;
    const std::string base = stem(name), last = leaf(name);
    if (last == "qweight") return gptq_or_awq(base);
    if (last == "weight_packed") return packed(base, t);
    if (at(name + ".absmax") != nullptr) return bitsandbytes_4bit(name);
    if (last == "weight" && t.dtype == DType::i8 && at(base + "SCB") != nullptr)
      return bitsandbytes_8bit(name, base);
    if (t.dtype == DType::u8 && at(name + "_scale_2") != nullptr) return modelopt_nvfp4(name);
    if (t.dtype == DType::i8 && at(name + "_scale") != nullptr) return int8_scaled(name);
    if (is_float8(t.dtype)) scaled_float8(t);
  }

  void scaled_float8(const TensorInfo& t) {
    const std::string base = stem(t.name);
    std::vector<std::string> scales;
    for (const std::string& name : {t.name + "_scale_inv", t.name + "_scale",
                                    leaf(t.name) == "weight" ? base + "scale_weight" : "",
                                    leaf(t.name) == "weight" ? base + "scale" : ""})
      if (!name.empty() && at(name) != nullptr) scales.push_back(name);
    if (scales.empty()) return;  // a tensor of floats
    const bool is_comfy = scales.front() == base + "scale_weight";
    take(weight_of(t.name, CheckpointFormat::scaled_float8, t.shape),
         {{"weight", t.name},
          {"scales", scales.front()},
          {"other scales", scales.size() > 1 ? scales[1] : ""},
          {"marker", is_comfy ? "scaled_fp8" : ""}},
         [&](CheckpointWeight& weight) {
           if (scales.size() > 1)
             problem("expected scales of one name, got " + shown(scales[0]) + " and " +
                     shown(scales[1]));
           const TensorInfo& s = part(weight, "scales");
           if (!require_scale_type(s)) return;
           const auto block = checkpoint_blocks(t.shape, s.shape);
           if (!block)
             return void(misfit(s, "scales of " + shape_text(t.shape) +
                                       ": one, one per row, or one for each block of 128 (or of "
                                       "another power of two that divides the extent)"));
           weight.block = *block;
           weight.dtype = float_type(s.dtype);
           weight.scheme = std::string(dtype_row(t.dtype).element) + " with scales, " +
                           (count(s) == 1 ? "per tensor" : "blocks of " + shape_text(weight.block));
         });
  }

  void int8_scaled(const std::string& name) {
    take(weight_of(name, CheckpointFormat::int8_scaled, at(name)->shape),
         {{"weight", name}, {"scales", name + "_scale"}, {"zero points", name + "_zero_point"}},
         [&](CheckpointWeight& w) {
           const TensorInfo &t = part(w, "weight"), &s = part(w, "scales");
           if (!require_matrix(t, DType::i8) || !require_scale_type(s)) return;
           const std::size_t n = t.shape[0], k = t.shape[1];
           const bool per_row = s.shape == std::vector<std::size_t>{n};
           if (count(s) != 1 && !per_row && (s.shape.size() != 2 || s.shape[0] != n))
             return void(misfit(s, "one scale, " + shape_text(std::vector<std::size_t>{n, 1}) +
                                       ", or one for each group of a row"));
           require_groups(w, k, count(s) == 1 || per_row ? 1 : s.shape[1]);
           if (w.parts.contains("zero points")) require(w, "zero points", DType::i8, s.shape);
           w.dtype = float_type(s.dtype);
           w.scheme = "int8 with scales" +
                      (count(s) == 1 ? std::string(", per tensor") : groups_text(w, k));
         });
  }

  void modelopt_nvfp4(const std::string& name) {
    take(weight_of(name, CheckpointFormat::nvfp4),
         {{"weight", name}, {"scales", name + "_scale"}, {"tensor scale", name + "_scale_2"}},
         [&](CheckpointWeight& w) { nvfp4(w, "tensor scale"); });
  }

  void nvfp4(CheckpointWeight& w, const char* role) {
    const TensorInfo &codes = part(w, "weight"), &ts = part(w, role);
    if (codes.dtype != DType::u8 || codes.shape.empty())
      return void(misfit(codes, "U8 of packed codes"));
    w.shape = codes.shape;
    w.shape.back() *= 2;
    std::vector<std::size_t> grid = w.shape;
    grid.back() = (grid.back() + 15) / 16;
    require(w, "scales", DType::f8_e4m3, grid);
    if (ts.dtype != DType::f32 || count(ts) != 1) misfit(ts, "one F32");
    w.bits = 4;
    w.group_size = 16;
    w.scheme = "nvfp4";
  }

  void packed(const std::string& base, const TensorInfo& t) {
    const bool is_nvfp4 = t.dtype == DType::u8;
    take(weight_of(base + "weight",
                   is_nvfp4 ? CheckpointFormat::nvfp4 : CheckpointFormat::compressed_tensors),
         {{"weight", t.name},
          {"scales", base + "weight_scale"},
          {"shape", base + "weight_shape"},
          {"zero points", base + "weight_zero_point"},
          {"g_idx", base + "weight_g_idx"},
          {"divisor", base + "weight_global_scale"}},
         [&](CheckpointWeight& w) {
           if (is_nvfp4) nvfp4(w, "divisor");
           else pack_quantized(w);
         });
  }

  void pack_quantized(CheckpointWeight& w) {
    const TensorInfo &t = part(w, "weight"), &s = part(w, "scales"), &shape = part(w, "shape");
    if (!require_matrix(t, DType::i32) || !require_scale_type(s)) return;
    const std::size_t n = t.shape[0], k = inputs_of(shape, n);
    if (k == 0) return;
    const auto words = [](std::size_t fields, std::size_t width) {
      return (fields * width + 31) / 32;
    };
    std::vector<std::size_t> widths;
    for (std::size_t b = 1; b <= 8; ++b)
      if (words(k, b) == t.shape[1]) widths.push_back(b);
    if (widths.size() != 1)
      return void(misfit(t, "words of codes of 1 to 8 bits for rows of " + std::to_string(k)));
    w.shape = {n, k};
    w.bits = static_cast<int>(widths[0]);
    if (s.shape.size() != 2 || s.shape[0] != n || s.shape[1] == 0)
      return void(misfit(s, "scales of [" + std::to_string(n) + ", groups]"));
    require_groups(w, k, s.shape[1]);
    if (w.parts.contains("zero points")) {
      if (part(w, "zero points").dtype == DType::i8) require(w, "zero points", DType::i8, s.shape);
      else require(w, "zero points", DType::i32, {words(n, widths[0]), s.shape[1]});
    }
    if (w.parts.contains("g_idx")) require(w, "g_idx", DType::i32, {k});
    w.dtype = float_type(s.dtype);
    w.scheme = "compressed-tensors int" + std::to_string(w.bits) + groups_text(w, k);
  }

  // The second of the two extents in weight_shape, of which the first are the rows; 0 after a
  // problem.
  [[nodiscard]] std::size_t inputs_of(const TensorInfo& shape, std::size_t rows) {
    if (shape.name.empty()) return 0;
    std::vector<std::int64_t> extents;
    if (shape.dtype == DType::i64) extents = values<std::int64_t>(read_(shape.name));
    if (shape.dtype == DType::i32)
      for (const std::int32_t e : values<std::int32_t>(read_(shape.name))) extents.push_back(e);
    if (extents.size() != 2) {
      misfit(shape, "two extents of I64 or I32");
      return 0;
    }
    if (extents[0] == static_cast<std::int64_t>(rows) && extents[1] > 0)
      return static_cast<std::size_t>(extents[1]);
    problem(shown(shape.name) + ": expected a weight of " + std::to_string(rows) + " rows, got [" +
            std::to_string(extents[0]) + ", " + std::to_string(extents[1]) + "]");
    return 0;
  }

  void gptq_or_awq(const std::string& base) {
    take(weight_of(base + "weight", CheckpointFormat::gptq),
         {{"weight", base + "qweight"},
          {"zero points", base + "qzeros"},
          {"scales", base + "scales"},
          {"g_idx", base + "g_idx"}},
         [&](CheckpointWeight& w) { grouped(w); });
  }

  // GPTQ packs qweight along the inputs, AWQ along the outputs, of which there are 8 to a word.
  void grouped(CheckpointWeight& w) {
    const TensorInfo &q = part(w, "weight"), &s = part(w, "scales"), &z = part(w, "zero points");
    if (!require_matrix(q, DType::i32) || !require_matrix(z, DType::i32) || !require_scale_type(s))
      return;
    if (s.shape.size() != 2 || count(s) == 0) return void(misfit(s, "scales of [groups, outputs]"));
    const std::size_t groups = s.shape[0], n = s.shape[1];
    const bool is_awq = q.shape[1] * 8 == n;
    if (!is_awq && q.shape[1] != n)
      return void(misfit(q, std::to_string(n) + " columns (GPTQ) or an eighth of them (AWQ)"));
    const std::size_t bits = z.shape[1] * 32 / n;
    const bool is_width = bits == 4 || (!is_awq && (bits == 2 || bits == 3 || bits == 8));
    if (z.shape[0] != groups || z.shape[1] * 32 % n != 0 || !is_width)
      return void(misfit(z, "a row for each of " + std::to_string(groups) + " groups, of " +
                                std::to_string(n) + " zero points of 4 bits (GPTQ: 2, 3, 4 or 8)"));
    if (!is_awq && q.shape[0] * 32 % bits != 0)
      return void(misfit(q, "whole words of codes of " + std::to_string(bits) + " bits"));
    const std::size_t k = is_awq ? q.shape[0] : q.shape[0] * 32 / bits;
    w.format = is_awq ? CheckpointFormat::awq : CheckpointFormat::gptq;
    w.bits = static_cast<int>(bits);
    w.is_gptq_v2 = hints_.is_gptq_v2;
    w.shape = {n, k};
    if (w.parts.contains("g_idx")) require(w, "g_idx", DType::i32, {k});
    require_groups(w, k, groups);
    w.dtype = float_type(s.dtype);
    w.scheme =
        std::string(to_string(w.format)) + " uint" + std::to_string(bits) + groups_text(w, k);
  }

  void bitsandbytes_8bit(const std::string& name, const std::string& base) {
    take(weight_of(name, CheckpointFormat::bitsandbytes_8bit, at(name)->shape),
         {{"weight", name}, {"scales", base + "SCB"}, {"layout", base + "weight_format"}},
         [&](CheckpointWeight& w) {
           const TensorInfo& t = part(w, "weight");
           if (!require_matrix(t, DType::i8)) return;
           require(w, "scales", DType::f32, {t.shape[0]});
           if (w.parts.contains("layout"))
             for (const std::byte b : read_(part(w, "layout").name).bytes)
               if (b != std::byte{0})
                 problem(shown(part(w, "layout").name) + ": expected rows (0), got layout " +
                         std::to_string(std::to_integer<int>(b)));
           w.dtype = DType::f16;
           w.scheme = "bitsandbytes int8, per row";
         });
  }

  void bitsandbytes_4bit(const std::string& name) {
    const std::string nf4 = name + ".quant_state.bitsandbytes__nf4",
                      fp4 = name + ".quant_state.bitsandbytes__fp4";
    take(weight_of(name, CheckpointFormat::bitsandbytes_4bit),
         {{"weight", name},
          {"absmax", name + ".absmax"},
          {"map", name + ".quant_map"},
          {"nested absmax", name + ".nested_absmax"},
          {"nested map", name + ".nested_quant_map"},
          {"state", at(nf4) != nullptr ? nf4 : fp4}},
         [&](CheckpointWeight& w) { quant_state(w); });
  }

  // The state of a 4-bit tensor is JSON in a tensor of bytes.
  void quant_state(CheckpointWeight& w) {
    const TensorInfo &at_state = part(w, "state"), &t = part(w, "weight");
    if (!why_.empty()) return;
    const Tensor text = read_(at_state.name);
    const Json state = parse_json(
        std::string_view(reinterpret_cast<const char*>(text.bytes.data()), text.bytes.size()),
        at_state.name);
    JsonFields fields(state, "tq::io::find_quantized", at_state.name);
    w.group_size = static_cast<std::size_t>(fields.integer("blocksize", 1, 1 << 20));
    for (const std::int64_t e : fields.integers("shape", 0, std::int64_t{1} << 40))
      w.shape.push_back(static_cast<std::size_t>(e));
    const std::string dtype = fields.string("dtype");
    w.dtype = dtype == "float16" ? DType::f16 : dtype == "bfloat16" ? DType::bf16 : DType::f32;
    const std::optional<std::uint64_t> n = element_count(w.shape);
    if (!n) return;
    if (t.size_bytes < *n / 2 + *n % 2)
      misfit(t, std::to_string(*n / 2 + *n % 2) + " bytes for codes of " + shape_text(w.shape));
    const std::size_t blocks = (static_cast<std::size_t>(*n) + w.group_size - 1) / w.group_size;
    const bool is_nested = w.parts.contains("nested absmax");
    require(w, "absmax", is_nested ? DType::u8 : DType::f32, {blocks});
    require(w, "map", DType::f32, {16});
    if (is_nested) {
      const auto nested = static_cast<std::size_t>(fields.integer("nested_blocksize", 1, 1 << 20));
      (void)fields.real("nested_offset");
      require(w, "nested absmax", DType::f32, {(blocks + nested - 1) / nested});
      require(w, "nested map", DType::f32, {256});
    }
    w.bits = 4;
    w.scheme = "bitsandbytes " + fields.string("quant_type") + ", blocks of " +
               std::to_string(w.group_size) + (is_nested ? ", scales quantized" : "");
  }

  // Names that only parts have: scales whose weight is in another file, for one.
  void leave_rest(const TensorInfo& t) {
    if (taken_.contains(t.name) || out_.left_alone.contains(t.name)) return;
    for (const std::string_view ending :
         {"_scale_inv", ".qzeros", ".absmax", ".nested_absmax", ".quant_map", ".nested_quant_map",
          ".SCB", "weight_scale", "weight_scale_2", "weight_global_scale", "weight_zero_point",
          "weight_shape", "weight_g_idx", ".scale_weight", ".scale_input", ".input_scale"})
      if (std::string_view(t.name).ends_with(ending))
        out_.left_alone.emplace(
            t.name, LeftAlone{"named as a part of a quantized weight that is not here", false});
  }

  const ReadTensor& read_;
  CheckpointHints hints_;
  std::map<std::string, const TensorInfo*> index_;
  std::set<std::string> taken_;
  QuantizedCheckpoint out_;
  TensorInfo none_;
  std::string why_;
};

}  // namespace detail

/// Finds the weights of a file that other programs quantized (`CheckpointFormat`). Only what says a
/// weight's shape is read (weight_shape, weight_format, quant_state). A weight of which something
/// is missing or does not fit is no weight: its parts are in `left_alone`, with what was expected.
/// Throws: what `read` throws.
[[nodiscard]] inline QuantizedCheckpoint find_quantized(std::span<const TensorInfo> tensors,
                                                        const ReadTensor& read,
                                                        const CheckpointHints& hints = {}) {
  return detail::CheckpointFinder(tensors, read, hints).result();
}

}  // namespace tq::io
