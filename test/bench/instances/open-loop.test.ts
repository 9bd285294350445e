import type { RequestListener } from 'node:http';
import { buffer } from 'node:stream/consumers';

import { afterEach, describe, expect, it } from 'vitest';

import { LoopbackServer } from '../../harness/loopback-server.ts';
import { sendOpenLoop } from './open-loop.ts';

const servers: LoopbackServer[] = [];

const serve = async (listener: RequestListener): Promise<string> => {
  const server = await LoopbackServer.start(listener);
  servers.push(server);
  return `http://127.0.0.1:${server.port}`;
};

afterEach(async () => {
  await Promise.all(servers.splice(0).map(async (server) => server.stop()));
});

const ALL = JSON.stringify({ recorded: 1, unchanged: 0 });

const planned = (dueMs: number, body = 'later') => ({ dueMs, instance: 0, events: 1, body });

describe('an open-loop sender', () => {
  it('sends later requests while an earlier one waits, whose wait it measures from when it was due', async () => {
    // Answers the first request only when the last one has arrived: a sender that waits for answers never ends.
    const waiting: (() => void)[] = [];
    const url = await serve((incoming, answer) => {
      void buffer(incoming).then((body) => {
        if (body.toString() === 'first') waiting.push(() => answer.end(ALL));
        else answer.end(ALL);
        if (body.toString() === 'last') for (const end of waiting) end();
      });
    });
    const sent = await sendOpenLoop([url], [planned(0, 'first'), planned(100), planned(200, 'last')], 10_000);
    expect(sent.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(sent[0]?.ms).toBeGreaterThanOrEqual(199);
  });

  it('gives up on what is not answered in time, and says which was refused', async () => {
    const url = await serve((incoming, answer) => {
      void buffer(incoming).then((body) => {
        if (body.toString() === 'refused') answer.writeHead(503).end();
      });
    });
    const sent = await sendOpenLoop([url], [planned(0, 'refused'), planned(0)], 200);
    expect(sent.map(({ status }) => status)).toEqual([503, undefined]);
    expect(sent[1]?.ms).toBeGreaterThanOrEqual(199);
  });

  it('fails where an acknowledgement does not account for every event', async () => {
    const url = await serve((_, answer) => void answer.end(JSON.stringify({ recorded: 0, unchanged: 1 })));
    await expect(sendOpenLoop([url], [planned(0)], 10_000)).rejects.toThrow('of 1 new events, 0 were recorded');
  });
});
