#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Flask-Caching, and Flask-Limiter, with the settings that docs/python.md shows."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from tap import BeltCase, main  # noqa: E402

import flask  # noqa: E402
import flask_caching  # noqa: E402
import flask_limiter  # noqa: E402
import flask_limiter.util  # noqa: E402
from limits.strategies import STRATEGIES  # noqa: E402

import hashbelt.limits  # noqa: E402,F401


class Flask(BeltCase):
    def test_caching(self):
        """Flask-Caching: views and functions are computed once, until they are deleted"""
        belt = self.make()
        app = flask.Flask("test")
        cache = flask_caching.Cache(app, config={
            "CACHE_TYPE": "hashbelt.cachelib.flask_caching", "CACHE_ARGS": [belt.name]})
        calls = []

        @app.route("/")
        @cache.cached(timeout=60)
        def page():
            calls.append("page")
            return "page"

        @cache.memoize(60)
        def double(number):
            calls.append(number)
            return 2 * number

        with app.app_context():
            client = app.test_client()
            self.assertEqual([client.get("/").data for _ in range(2)], [b"page"] * 2)
            self.assertEqual([double(2), double(2), double(3)], [4, 4, 6])
            self.assertEqual(calls, ["page", 2, 3])
            cache.delete_memoized(double, 2)
            self.assertEqual((double(2), double(3), calls), (4, 6, ["page", 2, 3, 2]))
            belt.advance(60)
            self.assertEqual((client.get("/").data, calls[4:]), (b"page", ["page"]))

    def test_caching_options(self):
        """Flask-Caching: CACHE_OPTIONS and CACHE_DEFAULT_TIMEOUT are those of the belt's cache"""
        belt = self.make()
        cache = flask_caching.Cache(flask.Flask("test"), config={
            "CACHE_TYPE": "hashbelt.cachelib.flask_caching", "CACHE_ARGS": [belt.name],
            "CACHE_DEFAULT_TIMEOUT": 70, "CACHE_OPTIONS": {"key_prefix": "site:"}})
        with cache.app.app_context():
            cache.set_many({"a": 1, "b": 2})
            self.assertEqual((belt.entry("site:a").ttl, cache.get("a")), (70.0, 1))
            cache.delete_many("a", "b", "c")
            self.assertEqual(list(belt), [])

    def test_limiter(self):
        """Flask-Limiter: the third request in a minute is refused, with each strategy"""
        for strategy in STRATEGIES:
            belt = self.make()
            app = flask.Flask("test")
            limiter = flask_limiter.Limiter(
                key_func=flask_limiter.util.get_remote_address, app=app, strategy=strategy,
                headers_enabled=True, storage_uri=f"hashbelt://{belt.name}")

            @app.route("/")
            @limiter.limit("2/minute")
            def page():
                return "page"

            client = app.test_client()
            answers = [client.get("/") for _ in range(3)]
            self.assertEqual([answer.status_code for answer in answers], [200, 200, 429])
            self.assertEqual([answer.headers["X-RateLimit-Remaining"] for answer in answers],
                             ["1", "0", "0"])
            belt.advance(120)
            self.assertEqual(client.get("/").status_code, 200)


main()
