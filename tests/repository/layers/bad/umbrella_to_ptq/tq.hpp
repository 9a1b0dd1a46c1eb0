#include <tq/model/model.hpp>
