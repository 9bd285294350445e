/**
 * Moves the clock of a process that loads this module by `CLOCK_MOVED_BY_MS`, for the pictures of a day that is over: what `Date` says, and the
 * `Date` header of each answer. Timers keep their pace.
 */
import { subscribe } from 'node:diagnostics_channel';
import { ServerResponse } from 'node:http';

const movedBy = Number(process.env['CLOCK_MOVED_BY_MS']);
const { now } = Date;
const movedNow = (): number => now() + movedBy;

globalThis.Date = new Proxy(Date, {
  construct: (date, given): object => Reflect.construct(date, given.length === 0 ? [movedNow()] : given),
  get: (date, name): unknown => (name === 'now' ? movedNow : Reflect.get(date, name)),
});

// Node has its own clock for this header.
subscribe('http.server.request.start', (message) => {
  const response = typeof message === 'object' && message !== null && 'response' in message && message.response;
  if (response instanceof ServerResponse) response.setHeader('date', new Date().toUTCString());
});
