#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Flask-Session 0.8 with the setting that docs/python.md shows: later.sh runs it."""

import os
import sys
from datetime import timedelta

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from tap import BeltCase, main  # noqa: E402

import flask  # noqa: E402
import flask_session  # noqa: E402

import hashbelt.cachelib  # noqa: E402


def make_app(belt):
    """A worker of a site, which counts the visits of a session."""
    app = flask.Flask("test")
    app.config.update(SESSION_TYPE="cachelib", PERMANENT_SESSION_LIFETIME=timedelta(minutes=5),
                      SESSION_CACHELIB=hashbelt.cachelib.BeltCache(belt.name))
    flask_session.Session(app)

    @app.route("/")
    def visit():
        flask.session["visits"] = flask.session.get("visits", 0) + 1
        return str(flask.session["visits"])

    @app.route("/leave")
    def leave():
        flask.session.clear()
        return ""

    return app


class FlaskSession(BeltCase):
    def visit(self, app, cookie, target="/"):
        """A worker's answer to a browser with that cookie, and the cookie that it sets."""
        answer = app.test_client(use_cookies=False).get(
            target, headers={"Cookie": cookie} if cookie else {})
        self.assertEqual(answer.status_code, 200, answer.text)
        return answer.text, answer.headers.get("Set-Cookie", "").partition(";")[0]

    def test_shared(self):
        """Flask-Session: two workers share a session, which ends by itself or with the visit"""
        belt = self.make()
        first, second = make_app(belt), make_app(belt)
        text, cookie = self.visit(first, "")
        self.assertEqual((text, len(belt)), ("1", 1))
        self.assertEqual([self.visit(app, cookie)[0] for app in (second, first)], ["2", "3"])
        self.assertEqual(self.visit(second, "")[0], "1")
        belt.advance(299)
        self.assertEqual(self.visit(second, cookie)[0], "4")
        belt.advance(299)
        self.assertEqual(self.visit(first, cookie)[0], "5")
        belt.advance(300)
        self.assertEqual(self.visit(first, cookie)[0], "1")
        self.visit(second, cookie, "/leave")
        self.assertEqual(self.visit(first, cookie)[0], "1")


main()
