import { createHash, createHmac, randomUUID } from 'node:crypto';

import { onTestFinished } from 'vitest';
import { z } from 'zod';

import { type AcsSimulator, startAcsSimulator } from '../../infra/emulators/acs-simulator/simulator.ts';
import type { SimulatorOptions } from '../../infra/emulators/phone-network/simulator.ts';

/** The code of ACS's error. */
export const errorSchema = z.object({ error: z.object({ code: z.string() }) }).transform(({ error }) => error.code);

/** A simulator that ends with the test. */
export const startAcs = async (options?: SimulatorOptions): Promise<AcsSimulator> => {
  const acs = await startAcsSimulator(options);
  onTestFinished(() => acs.stop());
  return acs;
};

/** A request as the SDK makes it, written out by hand, so that each part of it can be wrong. */
export const signed = (
  { url: base, connectionString }: Pick<AcsSimulator, 'url' | 'connectionString'>,
  path: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
  { version = '2026-03-12', method = 'POST' } = {},
) => {
  const url = new URL(`${base}/calling/callConnections${path}?api-version=${version}`);
  const text = body === undefined ? '' : JSON.stringify(body);
  const date = new Date().toUTCString();
  const hash = createHash('sha256').update(text).digest('base64');
  const key = Buffer.from(/accesskey=(.+)$/.exec(connectionString)?.[1] ?? '', 'base64');
  const toSign = `${method}\n${url.pathname}${url.search}\n${date};${url.host};${hash}`;
  const signature = createHmac('sha256', key).update(toSign).digest('base64');
  return {
    url,
    text,
    method,
    headers: {
      'content-type': 'application/json',
      'x-ms-date': date,
      'x-ms-content-sha256': hash,
      authorization: `HMAC-SHA256 SignedHeaders=x-ms-date;host;x-ms-content-sha256&Signature=${signature}`,
      ...headers,
    },
  };
};

/** Sends such a request. */
export const ask = async (...request: Parameters<typeof signed>) => {
  const { url, text, headers, method } = signed(...request);
  const response = await fetch(url, { method, headers, ...(text === '' ? {} : { body: text }) });
  const answer = await response.text();
  return {
    status: response.status,
    retryAfter: response.headers.get('retry-after'),
    body: answer === '' ? undefined : z.unknown().parse(JSON.parse(answer)),
  };
};

/** New repeatability headers. */
export const repeatable = () => ({
  'repeatability-request-id': randomUUID(),
  'repeatability-first-sent': new Date().toUTCString(),
});

/** The body of a request for a call. */
export const createCall = (number = '+12065550100') => ({
  targets: [{ kind: 'phoneNumber', rawId: `4:${number}`, phoneNumber: { value: number, isAnonymous: false } }],
  sourceCallerIdNumber: { value: '+12065550199', isAnonymous: false },
  callbackUri: 'http://127.0.0.1:9/api/CustomCallback',
  callIntelligenceOptions: { cognitiveServicesEndpoint: 'https://speech.invalid/' },
});

/** The body of a request to speak. */
export const play = (text: string) => ({
  playSources: [{ kind: 'text', text: { text, sourceLocale: 'en-US', voiceKind: 'female' } }],
  playTo: [],
  playOptions: { loop: false },
  operationContext: 'x',
});

/** The body of a request to listen for keys. */
export const listen = (number: string) => ({
  targetParticipant: { rawId: `4:${number}`, phoneNumber: { value: number, isAnonymous: false } },
  operationContext: 'y',
});

/** The call's id in the answer to createCall. */
export const callIdOf = (answer: unknown): string =>
  z.object({ callConnectionId: z.string() }).parse(answer).callConnectionId;
