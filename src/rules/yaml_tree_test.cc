#include "rules/yaml_tree.h"

#include <gtest/gtest.h>
