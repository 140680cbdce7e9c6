"""Follows a live find: events.py LIBRARY URL. Prints each event as a line of JSON, and comes back after whatever ends it."""
import asyncio
import json
import os
import sys
import time

library, url = sys.argv[1:]
headers = {'Authorization': f'Bearer {os.environ["TOKEN"]}', 'Accept': 'text/event-stream',
           'use-pre-stored-structure': 'true'}


def show(event, id, data):
    print(json.dumps({'event': event, 'id': id, 'data': data}), flush=True)
    headers['Last-Event-ID'] = id or ''


def follow_by_requests():
    import requests
    import sseclient
    with requests.get(url, headers=headers, stream=True) as answer:
        answer.raise_for_status()
        for event in sseclient.SSEClient(answer).events():
            show(event.event, event.id, event.data)


def follow_by_httpx():
    import httpx
    import httpx_sse
    with httpx.Client(timeout=60) as client, httpx_sse.connect_sse(client, 'GET', url, headers=headers) as source:
        source.response.raise_for_status()
        for event in source.iter_sse():
            show(event.event, event.id, event.data)


async def follow_by_aiohttp():
    from aiohttp_sse_client2 import client
    async with client.EventSource(url, headers=headers, timeout=None) as source:
        async for event in source:
            show(event.type, event.last_event_id, event.data)


follow = {
    'sseclient-py': follow_by_requests,
    'httpx-sse': follow_by_httpx,
    'aiohttp-sse-client2': lambda: asyncio.run(follow_by_aiohttp()),
}[library]
while True:
    try:
        follow()
    except Exception as error:
        print(repr(error), file=sys.stderr, flush=True)
    time.sleep(0.2)
