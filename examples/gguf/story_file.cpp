// SPDX-License-Identifier: MIT
#include "story_file.hpp"

#include <tq/containers/gguf_writer.hpp>
#include <tq/containers/tensor_file.hpp>
#include <tq/files/text_file.hpp>
#include <tq/json/json_text.hpp>

#include <Eigen/Core>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using tq::layouts::gguf::Type;

// Calls f(name, matrix) for every matrix, by its name in GGUF files.
template <class M, class F>
void for_each_named(M& model, F&& f) {
  f(std::string("token_embd.weight"), model.embedding);
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    auto& l = model.layers[i];
    const std::string block = "blk." + std::to_string(i) + '.';
    f(block + "attn_q.weight", l.wq);
    f(block + "attn_k.weight", l.wk);
    f(block + "attn_v.weight", l.wv);
    f(block + "attn_output.weight", l.wo);
    f(block + "ffn_gate.weight", l.w1);
    f(block + "ffn_down.weight", l.w2);
    f(block + "ffn_up.weight", l.w3);
  }
}

// Calls f(name, vector) for every norm.
template <class F>
void for_each_norm(const Model& model, F&& f) {
  f(std::string("output_norm.weight"), model.norm);
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const std::string block = "blk." + std::to_string(i) + '.';
    f(block + "attn_norm.weight", model.layers[i].attention_norm);
    f(block + "ffn_norm.weight", model.layers[i].ffn_norm);
  }
}

// The piece of a token: the characters of the file are bytes, and a space is U+2581 in GGUF files.
std::string piece_of(const std::string& entry) {
  std::string bytes, piece;
  for (std::size_t i = 0; i < entry.size(); ++i) {
    auto byte = static_cast<unsigned char>(entry[i]);
    if (byte >= 0x80 && i + 1 < entry.size())  // 110000ab 10cdefgh is the byte abcdefgh
      byte = static_cast<unsigned char>((byte & 3) << 6 | (entry[++i] & 0x3F));
    bytes += static_cast<char>(byte);
  }
  for (const char c : bytes)
    if (c == ' ') piece += "\xE2\x96\x81";
    else piece += c;
  return piece;
}

std::vector<tq::io::GgufEntry> vocabulary_of(const std::filesystem::path& file) {
  const tq::io::Json json = tq::io::parse_json(tq::io::read_text(file), file.string());
  const auto entries = json.at("vocab").get<std::vector<std::string>>();
  std::vector<std::string> pieces;
  std::vector<std::int32_t> kinds;  // 1: text, 2: unknown, 3: control, 6: a byte
  for (std::size_t i = 0; i < entries.size(); ++i) {
    pieces.push_back(i == 1 ? "<s>" : i == 2 ? "</s>" : piece_of(entries[i]));
    kinds.push_back(i == 0 ? 2 : i <= 2 ? 3 : i <= 258 ? 6 : 1);
  }
  return {{"tokenizer.ggml.model", std::string("llama")},
          {"tokenizer.ggml.tokens", tq::io::GgufArray(std::move(pieces))},
          {"tokenizer.ggml.scores", tq::io::GgufArray(json.at("scores").get<std::vector<float>>())},
          {"tokenizer.ggml.token_type", tq::io::GgufArray(std::move(kinds))},
          {"tokenizer.ggml.unknown_token_id", std::uint32_t{0}},
          {"tokenizer.ggml.bos_token_id", std::uint32_t{1}},
          {"tokenizer.ggml.eos_token_id", std::uint32_t{2}}};
}

std::vector<tq::io::GgufEntry> keys_of(const Config& c) {
  const auto number = [](Index n) { return static_cast<std::uint32_t>(n); };
  return {{"general.architecture", std::string("llama")},
          {"general.name", std::string("stories260K")},
          {"general.file_type", std::uint32_t{0}},
          {"llama.vocab_size", number(c.vocabulary)},
          {"llama.context_length", number(c.max_tokens)},
          {"llama.embedding_length", number(c.dim)},
          {"llama.block_count", number(c.layers)},
          {"llama.feed_forward_length", number(c.hidden_dim)},
          {"llama.rope.dimension_count", number(c.head_size())},
          {"llama.rope.freq_base", 10000.0f},
          {"llama.attention.head_count", number(c.heads)},
          {"llama.attention.head_count_kv", number(c.kv_heads)},
          {"llama.attention.layer_norm_rms_epsilon", 1e-5f}};
}

std::span<const std::byte> bytes_of(const float* values, Index count) {
  return std::as_bytes(std::span(values, static_cast<std::size_t>(count)));
}

}  // namespace

void write_story(const std::filesystem::path& out, const Model& model,
                 const std::filesystem::path& folder) {
  std::vector<tq::io::GgufEntry> entries = keys_of(model.config);
  for (tq::io::GgufEntry& entry : vocabulary_of(folder / "tokenizer.json"))
    entries.push_back(std::move(entry));
  std::vector<tq::io::GgufTensorDecl> tensors;
  for_each_named(model, [&](const std::string& name, const Matrix& w) {
    tensors.push_back({name,
                       Type::f32,
                       {static_cast<std::size_t>(w.rows()), static_cast<std::size_t>(w.cols())}});
  });
  for_each_norm(model, [&](const std::string& name, const Vector& w) {
    tensors.push_back({name, Type::f32, {static_cast<std::size_t>(w.size())}});
  });
  tq::io::GgufWriter writer(out, entries, tensors);
  const auto append = [&](const std::string& name, const auto& w) {
    writer.append(name, bytes_of(w.data(), w.size()));
  };
  for_each_named(model, append);
  for_each_norm(model, append);
  writer.finish();
}

Model read_story(const std::filesystem::path& file, const Model& model) {
  tq::io::TensorFile tensors = tq::io::open_tensor_file(file);
  Model out = model;
  for_each_named(out, [&](const std::string& name, Matrix& w) {
    const std::vector<float> values = tq::io::to_float32(tensors.read(name));
    if (values.size() != static_cast<std::size_t>(w.size()))
      throw std::runtime_error(file.string() + ": expected " + std::to_string(w.size()) +
                               " values of " + name + ", got " + std::to_string(values.size()));
    w = Eigen::Map<const Matrix>(values.data(), w.rows(), w.cols());
  });
  return out;
}
