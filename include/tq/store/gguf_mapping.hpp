// SPDX-License-Identifier: MIT
#pragma once
// GgufMapping: the names and keys that models of one kind have in GGUF files.

#include <tq/bodies.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tq {

/// Fields of config.json; the first that is there counts. A dot separates nested names.
using ConfigFields = std::vector<std::string>;

/// A tensor under two names, in which {layer} and {expert} stand for numbers.
struct GgufNameRule {
  std::string from, to;
  ConfigFields heads{};  ///< the number of heads whose rows become pairs; empty: rows stay
};

/// A key, and the fields of config.json that it is made of.
struct GgufKeyRule {
  std::string key, type;  ///< "uint32", "float32", "string" or "bool"
  ConfigFields from;
  std::string numerator{}, denominator{};  ///< a quotient in place of fields that are not there
  bool is_optional = false;
};

/// Values that fields of config.json must have where they are there.
struct GgufRequirement {
  ConfigFields from;
  std::vector<std::string> values;
};

/// How models of one kind become GGUF files.
struct GgufMapping {
  std::string architecture;
  std::vector<GgufRequirement> requirements{};
  std::vector<GgufKeyRule> keys{};
  std::vector<GgufNameRule> names{};
  std::vector<std::string> dropped{};  ///< names of tensors that GGUF models do not have
};

/// The mapping that tq ships: models of types "llama", "mistral" and "mixtral", by the names of
/// Hugging Face and of Meta.
[[nodiscard]] TQ_API GgufMapping gguf_llama_mapping();

/// A mapping of a JSON file. Throws: `errc::malformed`, naming the field; `errc::io_failure`.
[[nodiscard]] TQ_API GgufMapping read_gguf_mapping(const std::filesystem::path& file);

namespace store::detail {

// The numbers in a name that a pattern with {layer} and {expert} matches.
struct GgufNumbers {
  std::string layer, expert;
};
[[nodiscard]] TQ_API std::optional<GgufNumbers> match_gguf_name(std::string_view pattern,
                                                                std::string_view name);

// A name with the numbers in their places.
[[nodiscard]] TQ_API std::string with_gguf_numbers(std::string pattern, const GgufNumbers& numbers);

}  // namespace store::detail

}  // namespace tq

#ifndef TQ_FILE_LIBRARY
#include <tq/store/gguf_mapping.ipp>
#endif
