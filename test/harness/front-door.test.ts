import { describe, expect, it, onTestFinished } from 'vitest';

import { FrontDoor } from './front-door.ts';
import { LoopbackServer } from './loopback-server.ts';

/** A backend that answers with its own name, or ends the connection instead. */
const startBackend = async (name: string, answers = true) => {
  const server = await LoopbackServer.start((request, response) => {
    if (answers) response.writeHead(200, { 'x-name': name }).end(`${name} ${request.method} ${request.url}`);
    else request.socket.destroy();
  });
  onTestFinished(() => server.stop());
  return { url: `http://127.0.0.1:${server.port}`, isAlive: true };
};

const open = async (seed = 'a seed'): Promise<FrontDoor> => {
  const door = await FrontDoor.start(seed);
  onTestFinished(() => door.stop());
  return door;
};

/** The indexes of the instances that got so many requests. */
const chosenBy = async (door: FrontDoor, requests: number): Promise<readonly (number | undefined)[]> => {
  for (let request = 0; request < requests; request += 1) await (await fetch(`${door.url}/api/x?n=${request}`)).text();
  return door.passages.map(({ instance }) => instance);
};

describe('the front door', () => {
  it('sends each request to exactly one instance, to each of them in time, as the seed says', async () => {
    const backends = [await startBackend('a'), await startBackend('b'), await startBackend('c')];
    const [door, same, other] = [await open(), await open(), await open('another seed')];
    for (const each of [door, same, other]) each.backends.push(...backends);
    const chosen = await chosenBy(door, 40);
    expect(chosen).toHaveLength(40);
    expect(new Set(chosen)).toEqual(new Set([0, 1, 2]));
    expect(await chosenBy(same, 40)).toEqual(chosen);
    expect(await chosenBy(other, 40)).not.toEqual(chosen);
  });

  it('sends on what was asked and what was answered', async () => {
    const door = await open();
    door.backends.push(await startBackend('a'));
    const answer = await fetch(`${door.url}/api/x?y=%20z`, { method: 'POST', body: 'a body' });
    expect([answer.status, answer.headers.get('x-name'), await answer.text()]).toEqual([
      200,
      'a',
      'a POST /api/x?y=%20z',
    ]);
    expect(door.passages).toEqual([
      { method: 'POST', path: '/api/x?y=%20z', body: 'a body', instance: 0, status: 200 },
    ]);
  });

  it('passes over an instance that is dead, and answers 502 where all are', async () => {
    const door = await open();
    const [dead, alive] = [await startBackend('a'), await startBackend('b')];
    dead.isAlive = false;
    door.backends.push(dead, alive);
    expect(await chosenBy(door, 10)).toEqual(Array(10).fill(1));

    alive.isAlive = false;
    expect((await fetch(door.url)).status).toBe(502);
  });

  it('answers 502 where the instance ends in the middle, and asks no other one', async () => {
    const door = await open();
    door.backends.push(await startBackend('a', false), await startBackend('b'));
    door.choose = () => 0;
    expect((await fetch(door.url)).status).toBe(502);
    expect(door.passages).toMatchObject([{ instance: 0, status: 502 }]);
  });

  it('lets a test choose', async () => {
    const door = await open();
    door.backends.push(await startBackend('a'), await startBackend('b'));
    door.choose = ({ path }, living) => living[path.endsWith('b') ? 1 : 0];
    expect(await (await fetch(`${door.url}/b`)).text()).toBe('b GET /b');
    expect(await (await fetch(`${door.url}/a`)).text()).toBe('a GET /a');
  });
});
