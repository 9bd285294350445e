import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';

import { bundle } from '../../infra/bundle.ts';
import { type App, type AppOptions, startApp } from '../harness/app.ts';

let directory: string;
let app: App;

const startRulesApp = (options: Partial<AppOptions> = {}): Promise<App> =>
  startApp({ bundle: { path: join(directory, 'main.cjs') }, environment: {}, ...options });

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'host-rules-'));
  const entry = fileURLToPath(new URL('fixtures/rules-app.ts', import.meta.url));
  await bundle({ entry, outfile: join(directory, 'main.cjs'), debug: true });
  app = await startRulesApp();
});

afterAll(async () => {
  await app.stop();
  await rm(directory, { recursive: true });
});

const echoSchema = z.object({
  method: z.string(),
  url: z.string(),
  query: z.array(z.tuple([z.string(), z.string()])),
  params: z.record(z.string(), z.string()),
  headers: z.record(z.string(), z.string()),
  body: z.string(),
});

/** The answer to a request that announces a body and sends none of it. */
const statusOf = async (url: string, bytes: number): Promise<unknown> => {
  const outgoing = httpRequest(`${url}/api/echo`, { method: 'POST', headers: { 'content-length': bytes } });
  outgoing.flushHeaders();
  const [response] = await once(outgoing, 'response');
  outgoing.once('error', () => undefined).destroy();
  return response.statusCode;
};

const echoed = async (path: string, init?: RequestInit): Promise<z.infer<typeof echoSchema>> =>
  echoSchema.parse(await (await fetch(`${app.url}${path}`, init)).json());

describe('what a handler returns, the client sees', () => {
  it.each([
    ['{}', '/api/returns/empty-object', 200, ''],
    ['nothing', '/api/returns/nothing', 204, ''],
    ['a string', '/api/returns/string', 500, ''],
    ['a number', '/api/returns/number', 500, ''],
    ['an error thrown', '/api/throws', 500, ''],
    ['a text thrown', '/api/throws/text', 500, ''],
    ['a body of JSON', '/api/returns/json', 200, '{"fire":1}'],
  ])('%s', async (_returned, path, status, body) => {
    const response = await fetch(`${app.url}${path}`);

    expect({ status: response.status, body: await response.text() }).toEqual({ status, body });
  });

  it('status, headers and bytes as they are', async () => {
    const response = await fetch(`${app.url}/api/returns/bytes`);

    expect(response.status).toBe(201);
    expect(response.headers.get('x-own')).toBe('yes');
    expect(new Uint8Array(await response.arrayBuffer())).toEqual(new Uint8Array([0, 255, 7]));
  });

  it('an error: its stack goes to the log, with the line of the source', async () => {
    await fetch(`${app.url}/api/throws`);

    await vi.waitFor(() => {
      expect(app.output()).toMatch(/throws failed: Error: lightning struck\n.*rules-app\.ts:\d+/);
    });
  });
});

describe('which requests reach a function', () => {
  it.each([
    ['GET', '/api/echo', 200],
    ['GET', '/api/ECHO', 200],
    ['GET', '/API/echo', 200],
    ['GET', '/api/ech%6F', 200],
    ['GET', '/api/echo/', 200],
    ['GET', '/api/echo//', 404],
    ['GET', '//api/echo', 404],
    ['GET', '/api//echo', 404],
    ['GET', '/api/echo/more', 404],
    ['GET', '/echo', 404],
    ['GET', '/api', 404],
    ['GET', '/api/%ff', 404],
    ['GET', '/api/named-by-itself', 200],
    ['DELETE', '/api/echo', 404],
    ['HEAD', '/api/echo', 404],
    ['OPTIONS', '/api/echo', 200],
    ['OPTIONS', '/api/keyed', 404],
    ['DELETE', '/api/any-method', 200],
    ['HEAD', '/api/any-method', 200],
    ['GET', '/api/keyed', 200],
    ['GET', '/api/keyed?code=anything', 200],
  ])('%s %s: %i', async (method, path, status) => {
    expect((await fetch(`${app.url}${path}`, { method })).status).toBe(status);
  });

  it('a route of literals is chosen before a parameter, whatever was registered first', async () => {
    expect(await (await fetch(`${app.url}/api/cameras/all`)).text()).toBe('all');
    expect((await echoed('/api/cameras/Ridge%2004')).params).toEqual({ camera: 'Ridge 04' });
    expect((await fetch(`${app.url}/api/cameras/`)).status).toBe(404);
  });

  it('a parameter for the rest of the path takes all of it', async () => {
    expect((await echoed('/api/files/2026/11/21')).params).toEqual({ path: '2026/11/21' });
  });

  it('a request that has no URL is a 400', async () => {
    const socket = connect(Number(new URL(app.url).port), '127.0.0.1');
    socket.write('GET /api/echo HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n');
    const [head] = await once(socket.setEncoding('utf8'), 'data');
    socket.destroy();

    expect(head).toMatch(/^HTTP\/1\.1 400 /);
  });
});

describe('what a function is told about a request', () => {
  it('URL, method and headers, with names in lower case', async () => {
    const seen = await echoed('/api/echo?day=2026-11-21', { headers: { 'X-Camera': 'ridge-04' } });

    expect(seen.url).toBe(`${app.url}/api/echo?day=2026-11-21`);
    expect(seen.method).toBe('GET');
    expect(seen.headers).toMatchObject({ 'x-camera': 'ridge-04' });
  });

  it('query parameters as they are, repeated and empty ones as well', async () => {
    expect((await echoed('/api/echo?a=1&b=&a=2&A=3&c&plus=x+y%2Bz')).query).toEqual([
      ['a', '1'],
      ['b', ''],
      ['a', '2'],
      ['A', '3'],
      ['c', ''],
      ['plus', 'x y+z'],
    ]);
  });

  it('the body of a request with a Content-Length, byte for byte', async () => {
    expect((await echoed('/api/echo', { method: 'POST', body: 'Ääh 🔥' })).body).toBe('Ääh 🔥');
  });

  it('a body that comes in chunks without a Content-Length, while it comes', async () => {
    const outgoing = httpRequest(`${app.url}/api/echo`, { method: 'POST' });
    outgoing.write('first ');
    await once(outgoing, 'socket');
    outgoing.end('second');
    const [response] = await once(outgoing, 'response');
    const text = Buffer.concat(await response.toArray()).toString();

    expect(response.statusCode).toBe(200);
    expect(echoSchema.parse(JSON.parse(text)).body).toBe('first second');
  });

  it('nothing of a body over 100 MiB, or over what a setting says: that is a 413', async () => {
    const small = await startRulesApp({ environment: { FUNCTIONS_REQUEST_BODY_SIZE_LIMIT: '1000' } });

    expect(await statusOf(app.url, 100 * 1024 * 1024 + 1)).toBe(413);
    expect(await statusOf(small.url, 1001)).toBe(413);
    await small.stop();
  });

  it('a client that sends on after its answer gets the answer, and its connection goes on', async () => {
    const outgoing = httpRequest(`${app.url}/api/does-not-read`, { method: 'POST' });
    outgoing.flushHeaders();
    const [response] = await once(outgoing, 'response');
    const text = Buffer.concat(await response.toArray()).toString();
    const chunk = Buffer.alloc(1_000_000);
    for (let sent = 0; sent < 20; sent += 1) {
      await new Promise((written) => void outgoing.write(chunk, written));
    }
    outgoing.end();
    await once(outgoing, 'close');

    expect([response.statusCode, text]).toEqual([200, 'not read']);
  });

  it('a client that leaves in the middle of its request harms nobody', async () => {
    const outgoing = httpRequest(`${app.url}/api/echo`, { method: 'POST', headers: { 'content-length': 1000 } });
    outgoing.once('error', () => undefined).write('the beginning');
    await once(outgoing, 'socket');
    outgoing.destroy();

    expect((await fetch(`${app.url}/api/echo`)).status).toBe(200);
  });
});

describe('host.json', () => {
  it('adds its headers to every answer, the ones without a function included, unless the function set its own', async () => {
    const [ours, own, unknown] = await Promise.all(
      ['/api/returns/empty-object', '/api/returns/own-cache-control', '/nowhere'].map(
        async (path) => (await fetch(`${app.url}${path}`)).headers,
      ),
    );

    expect(ours?.get('x-content-type-options')).toBe('nosniff');
    expect(ours?.get('cache-control')).toBe('no-store');
    expect(own?.get('cache-control')).toBe('max-age=60');
    expect(unknown?.get('x-content-type-options')).toBe('nosniff');
  });

  it('names the prefix of the routes, and none is possible', async () => {
    const hostJson = join(directory, 'without-prefix.json');
    await writeFile(hostJson, '{ "version": "2.0", "extensions": { "http": { "routePrefix": "" } } }');
    const bare = await startRulesApp({ hostJson });

    expect((await fetch(`${bare.url}/echo`)).status).toBe(200);
    expect((await fetch(`${bare.url}/api/echo`)).status).toBe(404);
    await bare.stop();
  });
});

describe('with a function key', () => {
  let locked: App;
  beforeAll(async () => {
    locked = await startRulesApp({ functionKey: 'k3y', masterKey: 'm4ster' });
  });
  afterAll(() => locked.stop());

  it.each([
    ['no key', '/api/keyed', {}, 401],
    ['a wrong key', '/api/keyed?code=wrong', {}, 401],
    ['the key in the query', '/api/keyed?code=k3y', {}, 200],
    ['the key in the header', '/api/keyed', { 'x-functions-key': 'k3y' }, 200],
    ['a wrong header before the right query', '/api/keyed?code=k3y', { 'x-functions-key': 'wrong' }, 401],
    ['an anonymous function without a key', '/api/echo', {}, 200],
    ['the master key', '/api/keyed', { 'x-functions-key': 'm4ster' }, 200],
    ['a function of level admin', '/api/admin-only?code=k3y', {}, 401],
    ['a function of level admin with the master key', '/api/admin-only?code=m4ster', {}, 200],
    ['an admin path without a key', '/admin/functions/nothing', {}, 401],
    ['an admin path with a function key', '/admin/functions/nothing', { 'x-functions-key': 'k3y' }, 403],
    ['an admin path with the master key', '/admin/functions/nothing', { 'x-functions-key': 'm4ster' }, 404],
    ['an unknown route, which is a 404 all the same', '/api/nowhere', {}, 404],
  ])('%s', async (_case, path, headers, status) => {
    expect((await fetch(`${locked.url}${path}`, { headers })).status).toBe(status);
  });

  it('a refused request does not reach the handler', async () => {
    const before = locked.output();
    await fetch(`${locked.url}/api/keyed`, { method: 'POST', body: 'x' });

    expect(locked.output()).toBe(before);
  });
});

describe('hooks and logs', () => {
  it('hooks run around the handler and may change its result', async () => {
    const response = await fetch(`${app.url}/api/hooked`);

    expect({ status: response.status, body: await response.text() }).toEqual({
      status: 202,
      body: 'changed by a hook',
    });
    expect(app.output()).toContain('hook: app started');
    expect(app.output()).toContain('hook: before hooked');
  });

  it('lines of the handler and of the console are printed as they are; debug lines are not', async () => {
    await fetch(`${app.url}/api/logs`);

    await vi.waitFor(() => {
      expect(app.output().split('\n')).toEqual(
        expect.arrayContaining(['a line of the handler', 'a line of the console', 'a warning of the ******']),
      );
    });
    expect(app.output()).not.toContain('not shown');
  });
});

describe('the life of the process', () => {
  it('a rejection that nobody awaits ends it, with its stack in the log', async () => {
    const doomed = await startRulesApp();
    await fetch(`${doomed.url}/api/leaves-rejection`).catch(() => undefined);

    expect(await doomed.exited).toBe('The app ended with code 1');
    expect(doomed.output()).toContain('nobody awaits this');
  });

  it('stopping finishes what is in flight, refuses what is new, and runs the terminate hooks last', async () => {
    const stopping = await startRulesApp();
    const inFlight = fetch(`${stopping.url}/api/slow`);
    await vi.waitFor(() => expect(stopping.output()).toContain('slow started'));
    const stopped = stopping.stop();
    await vi.waitFor(() => expect(fetch(`${stopping.url}/api/echo`)).rejects.toThrow('fetch failed'));

    expect(await (await inFlight).text()).toBe('slow but whole');
    await stopped;
    expect(stopping.output()).toMatch(/hook: app terminated$/);
    expect(await stopping.exited).toBe('The app ended with code 0');
  });

  it('an idle connection that a client keeps does not delay the stop', async () => {
    const idle = await startRulesApp();
    await (await fetch(`${idle.url}/api/echo`)).text();
    const start = performance.now();
    await idle.stop();

    expect(performance.now() - start).toBeLessThan(3_000);
  });

  it('wrong settings end it with their one message and code 1', async () => {
    await expect(startRulesApp({ environment: { FAIL_TO_LOAD: 'settings' } })).rejects.toThrow(
      /^The app ended with code 1:\nThe app cannot start:\n {2}SERVICE_NAME: is required$/,
    );
  });

  it('an app that registers nothing, and one that cannot be read, do not start', async () => {
    const empty = join(directory, 'empty.cjs');
    await writeFile(empty, '');

    await expect(startRulesApp({ bundle: { path: empty } })).rejects.toThrow('The app registered no function.');
    await expect(startRulesApp({ environment: { FAIL_TO_LOAD: 'no streams' } })).rejects.toThrow('enableHttpStream');
    await expect(startRulesApp({ bundle: { path: join(directory, 'none.cjs') } })).rejects.toThrow('none.cjs');
  });
});
