import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Socket } from 'node:net';

import { expect, it, onTestFinished } from 'vitest';

import { listenOn } from '../../infra/emulators/free-port.ts';
import { forward, IDLE_MILLISECONDS } from '../../infra/emulators/functions-host/forwarding.ts';
import { LoopbackServer } from '../harness/loopback-server.ts';

it('an idle connection to the app is closed by the host, before the app closes it under a request, which was a bare 500', async () => {
  const connected = Promise.withResolvers<Socket>();
  const app = createServer((request, response) => {
    connected.resolve(request.socket);
    response.end('answered');
  });
  expect(IDLE_MILLISECONDS).toBeLessThan(app.keepAliveTimeout);
  // This one never closes a connection by itself.
  app.keepAliveTimeout = 0;
  const server = `http://127.0.0.1:${await listenOn(app, 0)}`;
  onTestFinished(() => app.close().closeAllConnections());
  const host = await LoopbackServer.start((request, response) =>
    forward(server, { request, response, url: new URL(request.url ?? '', server) }, 'an-invocation'),
  );
  onTestFinished(() => host.stop());

  expect(await (await fetch(`http://127.0.0.1:${host.port}/`)).text()).toBe('answered');
  await once(await connected.promise, 'end');
});
