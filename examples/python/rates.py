# SPDX-License-Identifier: GPL-2.0-only
"""A service of FastAPI whose workers share cached functions, counters and locks.

    hbctl create rates --ttl 1h
    hbctl create locks --pinned --ttl 1h
    uvicorn --workers 3 rates:app

    curl http://localhost:8000/rates/EUR         # one worker asks the bank, the others wait
    curl -X POST http://localhost:8000/orders    # one order at a time, over all workers
"""

import asyncio
import os

import hashbelt
from fastapi import FastAPI

app = FastAPI()
belt = hashbelt.open("rates", hashbelt.JSON())
locks = hashbelt.open("locks")


@belt.cached(ttl=60, stale=10)
async def rate(currency: str) -> dict:
    """Ask the bank, which takes a second. For 10 s after ttl, others get the old rate meanwhile."""
    await asyncio.sleep(1)
    return {"currency": currency, "rate": 1.17, "asked by": os.getpid()}


@app.get("/rates/{currency}")
async def get_rate(currency: str) -> dict:
    """The rate of a currency."""
    return {"worker": os.getpid(), **await rate(currency)}


@app.post("/orders")
def order() -> dict:
    """Number an order. The token of the lock grows with each, so a store may refuse a late one."""
    with locks.lock("orders", ttl=10, timeout=5) as lock:
        number = belt.get("last order", 0) + 1
        belt.set("last order", number, ttl=None)
        return {"worker": os.getpid(), "number": number, "token": lock.token}
