#include <nlohmann/json.hpp>
#include <zlib.h>
