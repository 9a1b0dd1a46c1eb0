// SPDX-License-Identifier: MIT
#include "state_file.hpp"

#include "stored_model.hpp"

#include <tq/files/text_file.hpp>
#include <tq/json/any_observer_json.hpp>
#include <tq/store/missing_file.hpp>
#include <tq/store/own_file.hpp>

#include <limits>
#include <span>
#include <utility>

namespace tool {

using tq::errc;
using tq::io::Json;

std::string states_text(const States& states) {
  std::string text = "{\"version\": 1, \"tensors\": [\n";
  for (const auto& [name, observer] : states) {
    if (&name != &states.begin()->first) text += ",\n";
    text += tq::io::any_observer_to_json(observer).dump();
  }
  return text + "\n]}\n";
}

States read_states(const std::string& path) {
  tq::store::require_there(path);
  const Json document = tq::io::parse_json(tq::io::read_text(path), path);
  tq::io::JsonFields fields(document, "state", path);
  if (fields.integer("version", 0, std::numeric_limits<std::int64_t>::max()) != 1)
    throw tq::error(errc::unsupported,
                    path + ": version: expected 1, got " + document["version"].dump());
  States states;
  std::size_t i = 0;
  for (const Json& entry : fields.array("tensors")) {
    std::string at = path + ": tensors[" + std::to_string(i++) + "]";
    const auto name = entry.is_object() ? entry.find("name") : entry.end();
    if (entry.is_object() && name != entry.end() && name->is_string())
      at = path + ": tensor " + tq::io::shown(name->get<std::string>());
    AnyObserver observer = tq::io::any_observer_from_json(entry, at);
    if (!states.emplace(name_of(observer), observer).second)
      throw tq::error(errc::malformed, at + ": expected every tensor once, got it twice");
  }
  fields.finish();
  return states;
}

void TextFiles::open(const std::string& path, bool overwrite) {
  tq::store::require_free_place(path, overwrite);
  files_.emplace_back(path, tq::io::Links::replaced);
}

void TextFiles::write(std::size_t i, std::string_view text) {
  files_[i].write(std::as_bytes(std::span<const char>(text)));
}

void TextFiles::commit() {
  for (tq::io::AtomicFile& file : files_) file.flush();
  for (tq::io::AtomicFile& file : files_) {
    file.commit();
    tq::store::mark_as_own(file.target());
  }
}

}  // namespace tool
