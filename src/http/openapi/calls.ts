import { ALERT_TYPES, type AlertType } from '../../calls/alert-types.ts';
import { idempotencyKeySchema, notificationSchema } from '../notifications.ts';
import {
  answer,
  content,
  type Described,
  jsonSchema,
  type NamedSchemas,
  type Paths,
  problemAnswer,
  unexpected,
  withFunctionKey,
} from './operation.ts';
import { callsAnswerSchema, callsProblemSchema } from '../answers.ts';

/** The schemas that the calls' paths refer to. */
export const callSchemas = (): NamedSchemas => ({
  Notification: jsonSchema(notificationSchema, 'input'),
  Calls: jsonSchema(callsAnswerSchema, 'output'),
  CallsProblem: jsonSchema(callsProblemSchema, 'output'),
  Callback: CALLBACK_SCHEMA,
});

const PLACED = {
  recipient: '+12065550100',
  status: 'placed',
  call_connection_id: '401f2d00-5d56-4d8a-b1e3-0242ac120002',
};
const FAILED = { recipient: '+12065550101', status: 'failed', reason: 'throttled' };

/** What every request that places calls may answer. */
export const callAnswers = (): Readonly<Record<string, Described>> => ({
  '202': answer(
    'At least one call was placed. One outcome per recipient, in their order; a failed one never stops the others.',
    {
      schema: 'Calls',
      examples: { placed: { calls: [PLACED] }, 'one of two': { calls: [PLACED, FAILED] } },
    },
  ),
  '400': problemAnswer('The request is wrong. A wrong phone number is named by its index. Nobody was called.', {
    title: 'Bad Request',
    status: 400,
    detail: 'recipient 1 must be a phone number in E.164 form, as +12065550100',
    errors: [{ index: 1, detail: 'must be a phone number in E.164 form, as +12065550100' }],
  }),
  ...withFunctionKey.refusal,
  '413': problemAnswer('The body is too large.', {
    title: 'Content Too Large',
    status: 413,
    detail: 'The body is larger than 65536 bytes.',
  }),
  ...unexpected(),
  '502': problemAnswer(
    'Nobody could be called; `calls` says why.',
    { title: 'Bad Gateway', status: 502, detail: 'The call could not be placed.', calls: [FAILED] },
    { schema: 'CallsProblem' },
  ),
});

/** The notification send operation. */
export const notificationPaths = (): Paths => ({
  '/api/notifications': {
    post: {
      operationId: 'sendNotification',
      tags: ['calls'],
      summary: 'Phone people',
      description:
        'Places a call to every recipient at once. When one connects, the message of the alert type is spoken, and the call is hung up.',
      security: withFunctionKey.security,
      parameters: [
        {
          name: 'Idempotency-Key',
          in: 'header',
          description: 'The same request with the same key gets the first answer for 24 hours, and calls nobody again.',
          schema: jsonSchema(idempotencyKeySchema, 'input'),
        },
      ],
      requestBody: {
        required: true,
        content: content({
          schema: 'Notification',
          examples: {
            one: { channel: 'phone', alert_type: 'ConfirmedFire', recipients: ['+12065550100'] },
            several: { channel: 'phone', alert_type: 'BurnJob', recipients: ['+12065550100', '+12065550101'] },
          },
        }),
      },
      responses: {
        ...callAnswers(),
        '422': problemAnswer('The `Idempotency-Key` belongs to another request. Nobody was called.', {
          title: 'Unprocessable Content',
          status: 422,
          detail: 'This Idempotency-Key was used for another request in the last 24 hours.',
        }),
      },
    },
  },
});

const CALLBACK_SCHEMA: Described = {
  description: 'CloudEvents 1.0 of Communication Services. Of `data` only what is named here is looked at.',
  type: 'array',
  items: {
    type: 'object',
    required: ['id', 'source', 'type', 'specversion'],
    properties: {
      id: { type: 'string', minLength: 1 },
      source: { type: 'string', minLength: 1 },
      type: { type: 'string', minLength: 1 },
      specversion: { const: '1.0' },
      time: { type: 'string' },
      data: {
        type: 'object',
        properties: {
          callConnectionId: { type: 'string' },
          operationContext: { type: 'string' },
          resultInformation: {
            type: 'object',
            properties: { code: { type: 'integer' }, subCode: { type: 'integer' } },
          },
        },
      },
    },
  },
};

/** The callback of every alert type. */
export const callbackPaths = (): Paths =>
  Object.fromEntries(ALERT_TYPES.map((alertType) => [`/api/${alertType.callbackPath}`, { post: callback(alertType) }]));

const callback = ({ name, callbackPath, phrase }: AlertType): Described => ({
  operationId: `on${callbackPath}`,
  tags: ['callbacks'],
  summary: `What becomes of a call about ${name}`,
  description: `Communication Services reports here. When the call connects, the message is spoken: “${phrase}”`,
  security: [{ callbackToken: [] }],
  requestBody: {
    required: true,
    content: content({ schema: 'Callback', examples: { connected: [connectedEvent] } }),
  },
  responses: {
    '200': answer('Taken note of; also where the event is unknown, late or a repeat.'),
    '400': problemAnswer('Not an array of CloudEvents.', {
      title: 'Bad Request',
      status: 400,
      detail: '1 of 1 elements are not CloudEvents.',
      errors: [{ index: 0, detail: 'is not a CloudEvent 1.0: id, source, type and specversion "1.0" are required' }],
    }),
    '401': problemAnswer(
      'The token of Communication Services is missing or wrong. Only where `ACS_RESOURCE_ID` is set.',
      { title: 'Unauthorized', status: 401, detail: 'Not authorised.' },
      { headers: ['WWW-Authenticate'] },
    ),
    '413': problemAnswer('The body is too large.', {
      title: 'Content Too Large',
      status: 413,
      detail: 'The body is larger than 1048576 bytes.',
    }),
    ...unexpected(),
    '503': problemAnswer(
      'Whether the token is good cannot be told now.',
      { title: 'Service Unavailable', status: 503, detail: 'Not available now.' },
      { headers: ['Retry-After'] },
    ),
  },
});

const connectedEvent = {
  id: '5a7b8f5e-0a0e-4f0e-9a51-57c1f4a6e7b1',
  source: 'calling/callConnections/401f2d00-5d56-4d8a-b1e3-0242ac120002',
  type: 'Microsoft.Communication.CallConnected',
  specversion: '1.0',
  time: '2026-11-21T08:00:02.1590127+00:00',
  data: { callConnectionId: '401f2d00-5d56-4d8a-b1e3-0242ac120002', resultInformation: { code: 200, subCode: 0 } },
};
