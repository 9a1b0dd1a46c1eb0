// SPDX-License-Identifier: MIT
// tq dequantize: writes a quantized model back in the types it had.

#include "commands.hpp"
#include "output.hpp"
#include "output_files.hpp"
#include "stored_model.hpp"
#include "values.hpp"

#include <tq/io/npy.hpp>
#include <tq/io/safetensors_writer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tool {

namespace {

using tq::errc;

constexpr const char* skip_hint = "; --skip-unreadable copies its parts as they are";

// A tensor of the output: one of the model, or a part of one whose values cannot be made.
struct Output {
  const StoredTensor* source;
  std::optional<PartPlace> part{};
  std::string reason{};  // why it is a part of a weight that cannot be read, or empty

  [[nodiscard]] bool is_dequantized() const { return !part && source->plain == nullptr; }
  [[nodiscard]] tq::io::TensorDecl declaration() const {
    return part ? part->declaration
                : tq::io::TensorDecl{source->name, source->dtype, source->shape};
  }
  [[nodiscard]] std::uint64_t bytes() const { return part ? part->size() : source->plain_bytes(); }
};

void require_quantized(const StoredModel& model, const DequantizeOptions& options) {
  if (!model.unreadable().empty() && !options.skip_unreadable)
    throw tq::error(errc::unsupported, options.in + ": " + model.unreadable() + skip_hint);
  if (!model.has_description() &&
      std::none_of(model.tensors().begin(), model.tensors().end(),
                   [](const StoredTensor& t) { return t.foreign != nullptr; }))
    throw tq::error(errc::bad_argument,
                    options.in +
                        ": expected a model quantized by tq, or weights as other programs "
                        "quantize them, got neither \"tq\" metadata nor such weights");
}

// Why the values of a tensor cannot be made, or empty. All of them are made and dropped.
std::string decoding_problem(StoredModel& model, const StoredTensor& tensor) {
  if (tensor.plain != nullptr) return "";
  try {
    for_each_piece(tensor.elements(), [&](std::size_t first, std::size_t count) {
      static_cast<void>(model.piece(tensor, first, count));
    });
  } catch (const tq::error& e) {
    if (e.code() == errc::io_failure) throw;
    return e.what();
  }
  return "";
}

// What the output consists of. A file says what it holds before its first value, so what cannot be
// decoded is found beforehand, where it is to be skipped.
std::vector<Output> outputs_of(StoredModel& model, bool skip_unreadable) {
  std::vector<Output> out;
  for (const StoredTensor& t : model.tensors()) {
    std::string problem;
    if (skip_unreadable) problem = in_memory(t, [&] { return decoding_problem(model, t); });
    if (problem.empty()) out.push_back({&t, {}, t.is_unreadable ? t.left_alone : ""});
    else
      for (PartPlace& part : model.places(t)) out.push_back({&t, std::move(part), problem});
  }
  return out;
}

// Tensors of types that are not read, which a file that can have them gets as they are.
std::vector<const tq::io::OtherMember*> raw_of(const StoredModel& model) {
  std::vector<const tq::io::OtherMember*> out;
  for (const tq::io::OtherMember& other : model.others())
    if (other.raw) out.push_back(&other);
  return out;
}

// What the output does not have.
std::vector<tq::io::OtherMember> left_out(const StoredModel& model, const std::string& out) {
  std::vector<tq::io::OtherMember> others;
  for (const tq::io::OtherMember& other : model.others())
    if (!other.raw || out.ends_with(".npy")) others.push_back(other);
  return others;
}

// Calls f(bytes) for the pieces of a tensor of the output.
template <class F>
void for_each_span(StoredModel& model, const Output& output, F&& f) {
  if (output.part) {
    for_each_piece(output.bytes(), [&](std::size_t first, std::size_t count) {
      f(model.bytes(*output.part->in, output.part->begin + first, count));
    });
    return;
  }
  const StoredTensor& t = *output.source;
  const auto piece = [&](std::size_t first, std::size_t count) {
    try {
      return model.piece(t, first, count);
    } catch (const tq::error& e) {
      if (!output.is_dequantized() || e.code() == errc::io_failure) throw;
      throw tq::error(e.code(), std::string(e.what()) + skip_hint);
    }
  };
  for_each_piece(t.elements(),
                 [&](std::size_t first, std::size_t count) { f(piece(first, count)); });
}

void write_one(StoredModel& model, const std::vector<Output>& outputs, const std::string& path) {
  if (outputs.size() != 1)
    throw tq::error(errc::bad_argument, path + ": expected one tensor for a .npy file, got " +
                                            std::to_string(outputs.size()));
  const Output& output = outputs.front();
  in_memory(*output.source, [&] {
    tq::io::TensorDecl declared = output.declaration();
    tq::io::Tensor tensor{std::move(declared.name), declared.dtype, std::move(declared.shape), {}};
    tensor.bytes.reserve(static_cast<std::size_t>(output.bytes()));
    for_each_span(model, output, [&](std::span<const std::byte> bytes) {
      tensor.bytes.insert(tensor.bytes.end(), bytes.begin(), bytes.end());
    });
    tq::io::write_npy(path, tensor);
  });
}

void write_all(StoredModel& model, const std::vector<Output>& outputs, const std::string& path,
               std::uint64_t bytes) {
  std::vector<tq::io::TensorDecl> declarations;
  for (const Output& output : outputs) declarations.push_back(output.declaration());
  for (const tq::io::OtherMember* other : raw_of(model))
    declarations.push_back(raw_declaration(*other));
  tq::io::SafetensorsWriter writer(path, declarations, model.other_metadata());
  Progress progress("dequantize", bytes);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    in_memory(*outputs[i].source, [&] {
      for_each_span(model, outputs[i], [&](std::span<const std::byte> piece) {
        writer.append(declarations[i].name, piece);
      });
    });
    progress.advance(outputs[i].bytes());
  }
  for (const tq::io::OtherMember* other : raw_of(model))
    for_each_raw_piece(model.contents().file(), *other, [&](std::span<const std::byte> piece) {
      writer.append(other->name, piece);
    });
  writer.finish();
}

struct Totals {
  std::size_t dequantized = 0;
  std::uint64_t before = 0, after = 0;
};

Totals totals_of(const StoredModel& model, const std::vector<Output>& outputs,
                 const std::string& out) {
  Totals total;
  for (const StoredTensor& t : model.tensors()) total.before += t.bytes;
  for (const Output& output : outputs) {
    total.after += output.bytes();
    total.dequantized += output.is_dequantized() ? 1 : 0;
  }
  if (!out.ends_with(".npy"))
    for (const tq::io::OtherMember* other : raw_of(model)) {
      total.before += other->raw->size_bytes;
      total.after += other->raw->size_bytes;
    }
  return total;
}

void print_json_report(const StoredModel& model, const std::vector<Output>& outputs,
                       const DequantizeOptions& options, const Totals& total) {
  tq::io::Json list = tq::io::Json::array();
  for (const Output& output : outputs) {
    const tq::io::TensorDecl declared = output.declaration();
    list.push_back({{"name", declared.name},
                    {"dtype", std::string(to_string(declared.dtype))},
                    {"shape", declared.shape},
                    {"dequantized", output.is_dequantized()}});
    if (!output.reason.empty()) list.back()["reason"] = output.reason;
  }
  print_json({{"input", options.in},
              {"output", options.out},
              {"tensors", std::move(list)},
              {"left_out", names_of(left_out(model, options.out))},
              {"total",
               {{"tensors", outputs.size()},
                {"dequantized", total.dequantized},
                {"bytes_before", total.before},
                {"bytes_after", total.after}}}});
}

void print_report(const StoredModel& model, const std::vector<Output>& outputs,
                  const DequantizeOptions& options, const Totals& total) {
  std::cout << total.dequantized << " of " << outputs.size() << " tensors dequantized; "
            << grouped(total.before) << " bytes before, " << grouped(total.after) << " after\n";
  for (const Output& output : outputs)
    if (!output.reason.empty())
      std::cout << "copied, as the weight it is part of cannot be read: "
                << printable(output.declaration().name) << '\n';
  if (!options.out.ends_with(".npy"))
    for (const tq::io::OtherMember* other : raw_of(model)) print_copied(*other);
  print_others(left_out(model, options.out));
}

}  // namespace

void dequantize(const DequantizeOptions& options) {
  require_extension("OUT", options.out, {".safetensors", ".npy"});
  StoredModel model(options.in);
  require_other_file("OUT", options.out, model.files(), "IN");
  remove_leftovers(options.out);
  require_quantized(model, options);
  const std::vector<Output> outputs = outputs_of(model, options.skip_unreadable);
  const Totals total = totals_of(model, outputs, options.out);
  if (options.out.ends_with(".npy")) write_one(model, outputs, options.out);
  else write_all(model, outputs, options.out, total.after);
  if (options.json) print_json_report(model, outputs, options, total);
  else print_report(model, outputs, options, total);
}

}  // namespace tool
