# SPDX-License-Identifier: GPL-2.0-only
"""A site of Django in one file, whose workers share sessions and what they have computed.

    hbctl create sessions --ttl 14d
    hbctl create pages --ttl 5m
    SECRET_KEY=... gunicorn --workers 2 shop:application

    curl -c jar -b jar http://localhost:8000/put/tea     # the cart is in the session
    curl http://localhost:8000/stock                     # one worker counts, the other waits
"""

import os
import time

from django.conf import settings
from django.core.cache import cache
from django.core.wsgi import get_wsgi_application
from django.http import JsonResponse
from django.urls import path

settings.configure(
    SECRET_KEY=os.environ["SECRET_KEY"],
    ALLOWED_HOSTS=["localhost"],
    ROOT_URLCONF=__name__,
    CACHES={
        "default": {"BACKEND": "hashbelt.django.BeltCache", "LOCATION": "pages"},
        "sessions": {"BACKEND": "hashbelt.django.BeltCache", "LOCATION": "sessions"},
    },
    SESSION_ENGINE="django.contrib.sessions.backends.cache",
    SESSION_CACHE_ALIAS="sessions",
    INSTALLED_APPS=["django.contrib.sessions"],
    MIDDLEWARE=["django.contrib.sessions.middleware.SessionMiddleware"],
)


def put(request, article):
    """Put an article into the cart of the session."""
    cart = request.session.get("cart", [])
    request.session["cart"] = [*cart, article]
    return JsonResponse({"worker": os.getpid(), "cart": request.session["cart"]})


def count_stock():
    """Go to the shelves, which takes a second."""
    time.sleep(1)
    return {"tea": 17, "counted by": os.getpid()}


def stock(request):
    """The stock, as it was at most a minute ago."""
    return JsonResponse({"worker": os.getpid(), **cache.get_or_set("stock", count_stock, 60)})


urlpatterns = [path("put/<article>", put), path("stock", stock)]
application = get_wsgi_application()
