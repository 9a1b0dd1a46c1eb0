// SPDX-License-Identifier: MIT
#pragma once
// The source of a GGUF file: keys, and tensors that are read in bands of rows.

#include <tq/containers/dtype.hpp>
#include <tq/containers/gguf.hpp>
#include <tq/containers/gguf_parts.hpp>
#include <tq/containers/gguf_value.hpp>
#include <tq/containers/tensor.hpp>
#include <tq/error.hpp>
#include <tq/files/failure.hpp>
#include <tq/layouts/gguf/block.hpp>
#include <tq/layouts/gguf/type.hpp>
#include <tq/store/detail/gguf_bytes.hpp>
#include <tq/store/detail/gguf_decider.hpp>
#include <tq/store/stored_tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tq::store::detail {

// A tensor of the output, and where it comes from.
struct GgufItem {
  GgufShape to;
  std::string from_type;                      // of the input ("BF16", "q8_0")
  std::uint64_t from_bytes = 0;               // in the input
  std::optional<layouts::gguf::Type> type{};  // that it has in a GGUF file, where it may stay
  bool is_readable = true;                    // as floats
  bool is_quantized = false;                  // in the input
  std::size_t unit = 1;                       // rows that are read together
  const io::GgufReader* file = nullptr;       // that has it, where that is a GGUF file
  const io::GgufTensor* stored = nullptr;     // in that file
  std::vector<const StoredTensor*> parts{};   // in a model: all of it, or a matrix each
  std::vector<float> values{};                // that are computed, where there are no parts
  std::size_t head_rows = 0;                  // rows of a head that become pairs; 0: rows stay

  [[nodiscard]] std::uint64_t elements() const { return *io::element_count(to.shape); }
  // The elements of a matrix: the last two axes.
  [[nodiscard]] std::uint64_t matrix_elements() const {
    return to.shape.size() < 2 ? elements() : to.shape.back() * to.shape[to.shape.size() - 2];
  }
};

// Reads items; a thread has its own.
class GgufItemReader {
 public:
  GgufItemReader() = default;
  GgufItemReader(const GgufItemReader&) = delete;
  GgufItemReader& operator=(const GgufItemReader&) = delete;
  virtual ~GgufItemReader() = default;
  // Elements from number `first` on; both ends are those of whole units of rows, of one matrix.
  virtual void read(const GgufItem& item, std::uint64_t first, std::span<float> out) = 0;
  // Bytes of an item that stays as it is.
  virtual void copy(const GgufItem& item, std::uint64_t offset, std::span<std::byte> out) = 0;
};

class GgufInput {
 public:
  GgufInput() = default;
  GgufInput(const GgufInput&) = delete;
  GgufInput& operator=(const GgufInput&) = delete;
  virtual ~GgufInput() = default;
  [[nodiscard]] virtual std::unique_ptr<GgufItemReader> reader() const = 0;
  [[nodiscard]] virtual std::vector<std::filesystem::path> files() const = 0;

  std::vector<io::GgufEntry> entries{};
  std::vector<GgufItem> items{};
  std::vector<std::string> dropped{}, notes{};
};

// Tensors of a GGUF file, or of all parts of a split one.
class GgufFileInput final : public GgufInput {
 public:
  explicit GgufFileInput(const std::filesystem::path& path)
      : parts_(io::GgufParts::open(path, io::GgufByteOrder::any)) {
    for (const io::GgufEntry& entry : parts_.entries())
      if (!entry.name.starts_with("split.")) entries.push_back(entry);
    for (const io::GgufReader& file : parts_.files())
      for (const io::GgufTensor& t : file.tensors()) add(file, t);
  }
  [[nodiscard]] std::unique_ptr<GgufItemReader> reader() const override {
    return std::make_unique<Reader>();
  }
  [[nodiscard]] std::vector<std::filesystem::path> files() const override { return parts_.paths(); }

 private:
  void add(const io::GgufReader& file, const io::GgufTensor& t) {
    GgufItem item;
    item.to = {t.name, t.shape};
    item.from_type = layouts::gguf::info_of(t.type).name;
    item.from_bytes = t.size_bytes;
    item.type = t.type;
    const bool has_numbers = io::gguf_dtype(t.type).has_value();
    item.is_quantized = !has_numbers;
    item.is_readable = has_numbers ? is_gguf_float(t.type) : layouts::gguf::has_block(t.type);
    item.file = &file;
    item.stored = &t;
    items.push_back(std::move(item));
  }
  static bool is_gguf_float(layouts::gguf::Type type) {
    using layouts::gguf::Type;
    return type == Type::f32 || type == Type::f16 || type == Type::bf16 || type == Type::f64;
  }

  class Reader final : public GgufItemReader {
   public:
    void read(const GgufItem& item, std::uint64_t first, std::span<float> out) override {
      const layouts::gguf::Type type = item.stored->type;
      bytes_.resize(gguf_band_bytes(type, out.size()));
      item.file->read_range(*item.stored, gguf_band_bytes(type, first),
                            std::as_writable_bytes(std::span(bytes_)));
      decode_gguf(type, bytes_, out);
    }
    void copy(const GgufItem& item, std::uint64_t offset, std::span<std::byte> out) override {
      item.file->read_range(*item.stored, offset, out);
    }

   private:
    std::vector<std::uint8_t> bytes_;
  };

  io::GgufParts parts_;
};

}  // namespace tq::store::detail
