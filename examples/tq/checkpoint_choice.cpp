// SPDX-License-Identifier: MIT
#include "checkpoint_choice.hpp"

#include <tq/files/text_file.hpp>
#include <tq/json/json.hpp>
#include <tq/json/json_text.hpp>
#include <tq/scheme/closest_name.hpp>
#include <tq/scheme/detail/known_names.hpp>
#include <tq/store/missing_file.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

namespace tool {

namespace {

// A format: its types, of which the first is the default, and options that it takes.
struct FormatRow {
  std::string_view name;
  std::vector<std::string_view> types;
  bool has_groups, has_symmetry;
};

const std::vector<FormatRow>& formats() {
  static const std::vector<FormatRow> rows{
      {"compressed-tensors",
       {"int4", "int8", "int6", "int5", "int3", "int2", "w4a8", "w4afp8", "w8a8", "fp8",
        "fp8-weight-only", "fp8-block", "fp8-static", "nvfp4", "nvfp4-w4a4", "mxfp4", "mxfp8",
        "mxfp4-dynamic", "mxfp8-dynamic"},
       true,
       true},
      {"gptq", {"int4", "int8", "int3", "int2"}, true, true},
      {"awq", {"int4"}, true, true},
      {"bitsandbytes", {"nf4", "fp4", "nf4-double", "fp4-double", "int8"}, false, false},
      {"fp8", {"fp8"}, false, false},
      {"mxfp4", {"mxfp4"}, false, false},
      {"modelopt", {"nvfp4", "nvfp4-w4a4", "fp8-static"}, false, false},
      {"mlx",
       {"int4", "int8", "int6", "int5", "int3", "int2", "mxfp4", "mxfp8", "nvfp4"},
       true,
       false},
  };
  return rows;
}

// An engine: the formats that it loads, the best first, and the command before and after a folder.
struct EngineRow {
  std::string_view name;
  std::vector<std::string_view> formats;
  std::string_view before, after, parallel;
};

const std::vector<EngineRow>& engines() {
  static const std::vector<EngineRow> rows{
      {"vllm",
       {"compressed-tensors", "gptq", "awq", "fp8", "mxfp4", "modelopt"},
       "vllm serve ",
       "",
       " --tensor-parallel-size "},
      {"sglang",
       {"compressed-tensors", "gptq", "awq", "fp8", "mxfp4", "modelopt", "bitsandbytes"},
       "python -m sglang.launch_server --model-path ",
       "",
       " --tp "},
      {"transformers",
       {"compressed-tensors", "gptq", "awq", "fp8", "mxfp4", "bitsandbytes"},
       "AutoModelForCausalLM.from_pretrained(\"",
       "\")",
       ""},
      {"mlx", {"mlx", "awq"}, "mlx_lm.chat --model ", "", ""},
  };
  return rows;
}

template <class Row>
std::vector<std::string> names_of(const std::vector<Row>& rows) {
  std::vector<std::string> names;
  for (const Row& row : rows) names.emplace_back(row.name);
  return names;
}

std::vector<std::string> all_engines() {
  std::vector<std::string> names = names_of(engines());
  names.emplace_back(gguf_engine);
  return names;
}

template <class Row>
const Row& row_of(const std::vector<Row>& rows, const std::string& name, const char* option) {
  for (const Row& row : rows)
    if (row.name == name) return row;
  const std::vector<std::string> names = names_of(rows);
  throw UsageError(std::string(option) + ": expected " + tq::joined_names(names) + ", got \"" +
                   name + "\"" + tq::did_you_mean(name, names));
}

bool loads(const EngineRow& engine, std::string_view format) {
  return std::ranges::find(engine.formats, format) != engine.formats.end();
}

// Types of a format that an engine does not run although it loads others.
struct EngineLimit {
  std::string_view engine, format;
  std::vector<std::string_view> types;
  std::string_view runs;  // instead
};

const EngineLimit* limit_of(std::string_view engine, std::string_view format,
                            std::string_view type) {
  static const std::vector<EngineLimit> limits{
      {"vllm", "gptq", {"int3", "int2"}, "4 or 8 bits"},
      {"sglang",
       "compressed-tensors",
       {"int8", "int6", "int5", "int3", "int2", "w4a8", "w4afp8"},
       "packed weights of 4 bits without codes of activations"},
  };
  for (const EngineLimit& limit : limits)
    if (limit.engine == engine && limit.format == format &&
        std::ranges::find(limit.types, type) != limit.types.end())
      return &limit;
  return nullptr;
}

// The first format of an engine that has the type.
std::string format_for(const EngineRow& engine, const std::string& type) {
  for (const std::string_view name : engine.formats) {
    const FormatRow& format = row_of(formats(), std::string(name), "--format");
    if (type.empty() || (std::ranges::find(format.types, type) != format.types.end() &&
                         limit_of(engine.name, name, type) == nullptr))
      return std::string(name);
  }
  throw UsageError("--type: expected a type that " + std::string(engine.name) + " loads, got \"" +
                   type + "\"");
}

// Throws: UsageError, also for the engine that loads GGUF files.
const EngineRow& engine_row(const std::string& name) {
  for (const EngineRow& engine : engines())
    if (engine.name == name) return engine;
  if (name == gguf_engine)
    throw UsageError(
        "--for: expected an OUT that ends in .gguf for llama.cpp, which loads GGUF files");
  throw UsageError("--for: expected " + engine_names() + ", got \"" + name + "\"" +
                   tq::did_you_mean(name, all_engines()));
}

void require_type(const FormatRow& format, const std::string& type) {
  if (std::ranges::find(format.types, type) != format.types.end()) return;
  const std::vector<std::string> names(format.types.begin(), format.types.end());
  throw UsageError("--type: expected " + tq::joined_names(names) + " of format " +
                   std::string(format.name) + ", got \"" + type + "\"" +
                   tq::did_you_mean(type, names));
}

}  // namespace

void require_runs(const std::string& engine, const CheckpointChoice& choice,
                  const std::string& option) {
  if (const EngineLimit* const limit = limit_of(engine, choice.format, choice.type))
    throw UsageError(option + ": expected " + std::string(limit->runs) + ", which " + engine +
                     " runs in " + choice.format + ", got " + choice.type);
  if (engine == "vllm" && choice.format == "gptq" && !choice.is_symmetric.value_or(true))
    throw UsageError("--symmetry: expected symmetric, which vllm runs in gptq, got asymmetric");
}

std::string checkpoint_format_names() { return tq::joined_names(names_of(formats())); }

std::string engine_names() { return tq::joined_names(all_engines()); }

MixtureFormat mixture_format(const std::string& engine) {
  if (engine_row(engine).name == "mlx")
    return {"mlx", {"int3_g64", "int4_g64", "int5_g64", "int6_g64", "int8_g64"}};
  MixtureFormat format{"compressed-tensors",
                       {"int4_g32", "int4_g64", "int4_g128", "fp8-weight-only", "int8_g32"}};
  if (engine == "sglang") format.schemes.pop_back();  // it does not run int8 weights
  return format;
}

CheckpointChoice scheme_choice(const std::string& format, const std::string& scheme,
                               const std::string& where) {
  CheckpointChoice choice{format, {}, scheme};
  const std::size_t groups = scheme.rfind("_g");
  if (groups != scheme.npos) {
    const std::string digits = scheme.substr(groups + 2);
    const bool is_number = !digits.empty() && digits.size() < 6 &&
                           digits.find_first_not_of("0123456789") == digits.npos;
    if (!is_number)
      throw UsageError(where + ": expected a scheme such as int4_g64, got \"" + scheme + '"');
    choice.type = scheme.substr(0, groups);
    choice.group_size = std::stoul(digits);
  }
  try {
    choice = resolved(choice);
  } catch (const UsageError& e) {
    throw UsageError(where + ", scheme \"" + scheme + "\": " + e.what());
  }
  const bool has_groups = choice.type.starts_with("int") || choice.type == "w4a8";
  if (has_groups && !choice.group_size) choice.group_size = 0;
  return choice;
}

CheckpointChoice with_schemes(CheckpointChoice choice, const std::string& path) {
  tq::store::require_there(path);
  const tq::io::Json json = tq::io::parse_json(tq::io::read_text(path), path);
  tq::io::JsonFields fields(json, "--config", path);
  fields.require_version(1);
  const std::string format = fields.one_of("format", {"compressed-tensors", "mlx"});
  if (!choice.format.empty() && choice.format != format)
    throw UsageError("--format: expected " + format + ", for which " + path + " was chosen, got " +
                     choice.format);
  choice.format = format;
  std::set<std::string> modules;
  for (const tq::io::Json& entry : fields.array("layers")) {
    tq::io::JsonFields layer(entry, "--config", path);
    const std::string module = layer.string("module"), scheme = layer.string("scheme");
    if (layer.has("reason")) static_cast<void>(layer.string("reason"));
    layer.finish();
    if (!modules.insert(module).second)
      layer.refuse("module", "each module once", '"' + module + "\" twice");
    if (scheme == "float") continue;
    require_runs(choice.engine, scheme_choice(format, scheme, path), path);
    choice.schemes.emplace(module, scheme);
  }
  fields.finish();
  if (choice.schemes.empty())
    throw UsageError("--config: expected a layer with a scheme in " + path + ", got none");
  return choice;
}

CheckpointChoice resolved(CheckpointChoice choice) {
  if (!choice.engine.empty()) {
    const EngineRow& engine = engine_row(choice.engine);
    if (choice.format.empty()) choice.format = format_for(engine, choice.type);
    static_cast<void>(row_of(formats(), choice.format, "--format"));
    if (!loads(engine, choice.format))
      throw UsageError("--format: expected a format that " + choice.engine + " loads, got " +
                       choice.format);
  }
  const FormatRow& format = row_of(formats(), choice.format, "--format");
  if (choice.type.empty()) choice.type = format.types.front();
  require_type(format, choice.type);
  const bool is_integer = choice.type.starts_with("int");
  if (choice.group_size && !(format.has_groups && (is_integer || choice.type == "w4a8")))
    throw UsageError("--group-size: expected none, " + choice.format + " " + choice.type +
                     " has groups of its own");
  if (choice.is_symmetric && !(format.has_symmetry && is_integer))
    throw UsageError("--symmetry: expected none, " + choice.format + " " + choice.type +
                     " has its own");
  require_runs(choice.engine, choice, "--type");
  return choice;
}

bool is_static(const std::string& type) { return type == "fp8-static" || type == "nvfp4-w4a4"; }

std::string static_type(const CheckpointChoice& choice) {
  for (const auto& [module, scheme] : choice.schemes)
    if (is_static(scheme)) return scheme;
  return choice.schemes.empty() && is_static(choice.type) ? choice.type : std::string();
}

std::vector<LoadingLine> loading_lines(const CheckpointChoice& choice, const std::string& folder) {
  std::vector<LoadingLine> lines;
  for (const EngineRow& engine : engines()) {
    if (choice.engine.empty() ? !loads(engine, choice.format) : engine.name != choice.engine)
      continue;
    std::string line = std::string(engine.before) + folder + std::string(engine.after);
    if (choice.tensor_parallel > 1 && !engine.parallel.empty())
      line += std::string(engine.parallel) + std::to_string(choice.tensor_parallel);
    lines.push_back({std::string(engine.name), std::move(line)});
  }
  return lines;
}

}  // namespace tool
