// SPDX-License-Identifier: MIT
#include "files.hpp"

#include <tq/containers/npy.hpp>
#include <tq/containers/safetensors.hpp>
#include <tq/json/json.hpp>

#include <charconv>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace {

using Path = std::filesystem::path;
using Shape = std::vector<std::size_t>;
using tq::io::Json;

[[noreturn]] void fail(const Path& file, const std::string& problem) {
  throw std::runtime_error(file.string() + ": " + problem);
}

// Calls f(document); what the document lacks is reported with the name of the file.
template <class F>
auto with_json(const Path& file, F&& f) {
  std::ifstream in(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in) fail(file, "cannot be read");
  try {
    return f(tq::io::parse_json(text, file.string()));
  } catch (const Json::exception& e) {
    fail(file, e.what());
  }
}

Config load_config(const Path& file) {
  return with_json(file, [&](const Json& info) {
    const auto number = [&](const char* key) {
      const auto value = info.at("config").at(key).get<Index>();
      if (value < 1 || value > 1'000'000)
        fail(file,
             std::string("expected ") + key + " from 1 to 1000000, got " + std::to_string(value));
      return value;
    };
    const Config c{number("dim"),     number("hidden_dim"), number("n_layers"),
                   number("n_heads"), number("n_kv_heads"), number("vocab_size"),
                   number("seq_len")};
    if (c.dim % (2 * c.heads) != 0 || c.heads % c.kv_heads != 0)
      fail(file, "expected n_heads to cut dim into even parts, and to be a multiple of n_kv_heads");
    return c;
  });
}

std::size_t extent(Index n) { return static_cast<std::size_t>(n); }

void require_shape(const Path& file, const tq::io::Tensor& t, const Shape& shape) {
  if (t.shape != shape)
    fail(file, t.name + ": expected shape " + tq::io::shape_text(shape) + ", got " +
                   tq::io::shape_text(t.shape));
}

Matrix to_matrix(const tq::io::Tensor& t, Index rows, Index cols) {
  const std::vector<float> values = tq::io::to_float32(t);
  return Eigen::Map<const Matrix>(values.data(), rows, cols);
}

Model load_model(const Path& file, const Config& c) {
  const auto tensors = tq::io::SafetensorsReader::open(file);
  const auto matrix = [&](const std::string& name, Index outputs, Index inputs) {
    const tq::io::Tensor t = tensors.read(name + ".weight");
    require_shape(file, t, {extent(outputs), extent(inputs)});
    return to_matrix(t, outputs, inputs);
  };
  const auto vector = [&](const std::string& name) -> Vector {
    const tq::io::Tensor t = tensors.read(name + ".weight");
    require_shape(file, t, {extent(c.dim)});
    return to_matrix(t, 1, c.dim);
  };
  Model model{c, matrix("tok_embeddings", c.vocabulary, c.dim), vector("norm"), {}};
  for (Index i = 0; i < c.layers; ++i) {
    const std::string layer = "layers." + std::to_string(i) + ".";
    const std::string attention = layer + "attention.", ffn = layer + "feed_forward.";
    model.layers.push_back(
        {vector(layer + "attention_norm"), vector(layer + "ffn_norm"),
         matrix(attention + "wq", c.dim, c.dim), matrix(attention + "wk", c.kv_dim(), c.dim),
         matrix(attention + "wv", c.kv_dim(), c.dim), matrix(attention + "wo", c.dim, c.dim),
         matrix(ffn + "w1", c.hidden_dim, c.dim), matrix(ffn + "w2", c.dim, c.hidden_dim),
         matrix(ffn + "w3", c.hidden_dim, c.dim)});
  }
  return model;
}

std::vector<int> load_tokens(const Path& file, const Config& c) {
  const tq::io::Tensor t = tq::io::read_npy(file);
  if (t.shape.size() != 1 || t.shape[0] < 2 || t.shape[0] > extent(c.max_tokens))
    fail(file, "expected from 2 to " + std::to_string(c.max_tokens) + " tokens, got shape " +
                   tq::io::shape_text(t.shape));
  std::vector<int> tokens;
  for (const std::int32_t token : tq::io::values<std::int32_t>(t)) {
    if (token < 0 || token >= c.vocabulary)
      fail(file, "expected tokens below " + std::to_string(c.vocabulary) + ", got " +
                     std::to_string(token));
    tokens.push_back(token);
  }
  return tokens;
}

// A byte as it is shown: what would break the line, or the terminal, as an escape.
std::string shown(int byte, bool escape) {
  if (byte == '\n') return "\\n";
  if (!escape) return std::string(1, static_cast<char>(byte));
  constexpr char digits[] = "0123456789ABCDEF";
  return std::string("\\x") + digits[byte / 16] + digits[byte % 16];
}

// The bytes of an entry of the vocabulary. Its characters, up to U+00FF, are bytes of UTF-8 text;
// "<0x0A>" is a single byte, which alone is text up to 127 only.
std::string token_text(const std::string& entry) {
  if (entry.size() == 6 && entry.starts_with("<0x") && entry.ends_with('>')) {
    unsigned byte = 0;
    const char *begin = entry.data() + 3, *end = begin + 2;
    if (std::from_chars(begin, end, byte, 16).ptr == end)
      return shown(static_cast<int>(byte), byte < ' ' || byte > '~');
  }
  std::string text;
  for (std::size_t i = 0; i < entry.size(); ++i) {
    int byte = static_cast<unsigned char>(entry[i]);
    if (byte >= 0x80 && i + 1 < entry.size())  // 110000ab 10cdefgh is the byte abcdefgh
      byte = (byte & 3) << 6 | (entry[++i] & 0x3F);
    text += shown(byte, byte < ' ' || byte == 0x7F);
  }
  return text;
}

}  // namespace

Story load_story(const Path& folder) {
  const Config c = load_config(folder / "info.json");
  Story story{load_model(folder / "stories260k.safetensors", c), {}, {}, {}};

  const Path tokenizer = folder / "tokenizer.json";
  with_json(tokenizer, [&](const Json& document) {
    for (const auto& entry : document.at("vocab").get<std::vector<std::string>>())
      story.vocabulary.push_back(token_text(entry));
  });
  if (story.vocabulary.size() != extent(c.vocabulary))
    fail(tokenizer, "expected " + std::to_string(c.vocabulary) + " entries in vocab, got " +
                        std::to_string(story.vocabulary.size()));

  for (int i = 0; i == 0 || exists(folder / ("tokens_" + std::to_string(i) + ".npy")); ++i) {
    const std::string name = std::to_string(i) + ".npy";
    Story::Text text{load_tokens(folder / ("tokens_" + name), c), {}, {}};
    const auto count = static_cast<Index>(text.tokens.size());
    const auto load = [&](const std::string& what, const Shape& shape, Index rows, Index cols) {
      const Path file = folder / (what + name);
      const tq::io::Tensor t = tq::io::read_npy(file);
      require_shape(file, t, shape);
      return to_matrix(t, rows, cols);
    };
    text.logits = load("logits_", {extent(count), extent(c.vocabulary)}, count, c.vocabulary);
    text.losses = load("nll_", {extent(count - 1)}, 1, count - 1);
    story.texts.push_back(std::move(text));
  }
  story.greedy = load_tokens(folder / "greedy_100.npy", c);
  return story;
}

std::string to_text(const std::vector<int>& tokens, const std::vector<std::string>& vocabulary) {
  std::string text;
  for (const int token : tokens) text += vocabulary.at(static_cast<std::size_t>(token));
  // The words of this vocabulary begin with a space, that of a text too.
  return text.starts_with(' ') ? text.substr(1) : text;
}
