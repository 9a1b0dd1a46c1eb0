#include <tq/json/bad.hpp>
