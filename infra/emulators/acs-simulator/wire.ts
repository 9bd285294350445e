/** The wire between the SDK and ACS: the signature and the bodies of requests, and the events. */
import { createHash, createHmac, randomUUID, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

import { z } from 'zod';

import { isHttpsOrLoopback } from '../../../src/settings/rules.ts';
import type { Result } from '../phone-network/scenarios.ts';

/** The wire protocol that the SDK speaks. */
export const API_VERSION = '2026-03-12';

const MAX_SKEW_MS = 15 * 60_000;

/** The fault of a request's HMAC signature; undefined: the signature is right. */
export const signatureFault = (
  request: Pick<IncomingMessage, 'method' | 'url' | 'headers'>,
  body: string,
  accessKey: string,
): string | undefined => {
  const { authorization, host = '' } = request.headers;
  const date = String(request.headers['x-ms-date'] ?? '');
  const contentHash = createHash('sha256').update(body).digest('base64');
  if (request.headers['x-ms-content-sha256'] !== contentHash) return 'x-ms-content-sha256 is not the hash of the body';
  if (!(Math.abs(Date.parse(date) - Date.now()) < MAX_SKEW_MS)) return 'x-ms-date is missing or too far from now';
  const text = `${request.method ?? ''}\n${request.url ?? ''}\n${date};${host};${contentHash}`;
  const signature = createHmac('sha256', Buffer.from(accessKey, 'base64')).update(text).digest('base64');
  const expected = Buffer.from(`HMAC-SHA256 SignedHeaders=x-ms-date;host;x-ms-content-sha256&Signature=${signature}`);
  const given = Buffer.from(authorization ?? '');
  return given.length === expected.length && timingSafeEqual(given, expected) ? undefined : 'the signature is wrong';
};

/** The headers by which a request that is sent again is carried out only once. */
export const repeatabilityHeaders = z.object({
  'repeatability-request-id': z.uuid(),
  'repeatability-first-sent': z.string().refine((text) => new Date(text).toUTCString() === text, 'is not an HTTP date'),
});

const phoneNumber = z.strictObject({ value: z.string().regex(/^\+[1-9]\d{6,14}$/), isAnonymous: z.literal(false) });

const callee = z
  .strictObject({ kind: z.literal('phoneNumber'), rawId: z.string(), phoneNumber })
  .refine((target) => target.rawId === `4:${target.phoneNumber.value}`, 'rawId is not that of the number');

/**
 * The body of `POST /calling/callConnections`. The caller is a number, or the resource account of a Teams Phone extension. ACS accepts only
 * https callbacks; the simulator also accepts plain http on this machine.
 */
export const createCallBody = z
  .strictObject({
    targets: z.tuple([callee]),
    sourceCallerIdNumber: phoneNumber.optional(),
    teamsAppSource: z.strictObject({ appId: z.guid() }).optional(),
    operationContext: z.string().max(5_000).optional(),
    callbackUri: z.string().refine(isHttpsOrLoopback, 'must be an https URL'),
    callIntelligenceOptions: z
      .strictObject({ cognitiveServicesEndpoint: z.string().refine((text) => URL.canParse(text)) })
      .optional(),
  })
  .refine(
    ({ sourceCallerIdNumber, teamsAppSource }) =>
      (sourceCallerIdNumber === undefined) !== (teamsAppSource === undefined),
    'needs either sourceCallerIdNumber or teamsAppSource',
  );

export type CreateCallBody = z.infer<typeof createCallBody>;

/** The body of `POST /calling/callConnections/{id}:play`. */
export const playBody = z.strictObject({
  playSources: z.tuple([
    z.strictObject({
      kind: z.literal('text'),
      text: z.strictObject({
        text: z.string().min(1).max(4_000),
        sourceLocale: z.literal('en-US'),
        voiceKind: z.enum(['female', 'male']),
      }),
    }),
  ]),
  playTo: z.tuple([]),
  playOptions: z.strictObject({ loop: z.boolean() }),
  interruptCallMediaOperation: z.boolean().optional(),
  operationContext: z.string().max(5_000).optional(),
});

export type PlayBody = z.infer<typeof playBody>;

/** The body of `POST /calling/callConnections/{id}:startContinuousDtmfRecognition`. The SDK names the callee there without a kind. */
export const listenBody = z.strictObject({
  targetParticipant: z.strictObject({ rawId: z.string(), phoneNumber }),
  operationContext: z.string().max(5_000).optional(),
});

/**
 * An event of ACS as a CloudEvent, in the shape of Microsoft's recorded traffic.
 *
 * @param call its ids and its context
 * @param more the parts that only events of this kind have
 */
export const callEvent = (
  kind: string,
  call: { readonly callConnectionId: string; readonly operationContext: string | undefined },
  [code, subCode]: Result,
  more: object,
) => {
  const type = `Microsoft.Communication.${kind}`;
  const path = `calling/callConnections/${call.callConnectionId}`;
  return {
    id: randomUUID(),
    source: path,
    type,
    data: {
      version: API_VERSION,
      ...call,
      resultInformation: { code, subCode, message: '' },
      ...more,
      publicEventType: type,
    },
    // Seven digits, as .NET writes them.
    time: `${new Date().toISOString().slice(0, -1)}1234+00:00`,
    specversion: '1.0',
    datacontenttype: 'application/json',
    subject: path,
  };
};
