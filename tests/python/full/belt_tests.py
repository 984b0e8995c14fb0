# SPDX-License-Identifier: GPL-2.0-only
"""Django's tests of caches, on belts. own.py puts this file into Django's package "cache"."""

from django.test import TestCase
from django.test.utils import override_settings

from . import tests
from .tests import (  # noqa: F401
    CacheClosingTests, CacheHandlerTest, CacheHEADTest, CacheI18nTest, CacheMiddlewareTest,
    CacheUtils, PrefixedCacheI18nTest, PrefixedCacheUtils, TestMakeTemplateFragmentKey,
    TestWithTemplateResponse)

BACKEND = "hashbelt.django.BeltCache"
# The belt's owner sets its limits, so Django culls nothing.
CULLED = {"cull", "zero_cull"}


@override_settings(CACHES=tests.caches_setting_for_tests(BACKEND=BACKEND, exclude=CULLED))
class BeltCacheTests(tests.BaseCacheTests, TestCase):
    # Two locations are two belts.
    test_multiple_caches = tests.LocMemCacheTests.test_multiple_caches


class DefaultNonExpiringCacheKeyTests(tests.DefaultNonExpiringCacheKeyTests):
    # These look for deadlines in a member of LocMemCache. django_test.py has the same on belts.
    test_caches_with_unset_timeout_set_expiring_key = None
    test_caches_set_with_timeout_as_none_set_non_expiring_key = None
