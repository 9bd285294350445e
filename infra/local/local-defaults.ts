import type { Settings } from './local-settings.ts';

/** What the settings of a local run need to know about the ACS simulator. */
export interface SimulatedAcs {
  readonly connectionString: string;
  /** The issuer of the tokens on its callbacks. */
  readonly issuer: string;
  /** Where the keys are that verify them. */
  readonly keysUrl: string;
  /** The audience of those tokens. */
  readonly resourceId: string;
  /** A local Event Grid topic. */
  readonly topic: { readonly endpoint: string; readonly key: string };
}

/** The parts of a local run that replace Azure's; undefined where the real part is used. */
export interface LocalParts {
  readonly tablesConnectionString: string | undefined;
  readonly acs: SimulatedAcs | undefined;
}

/**
 * The settings of a local run that nobody gave otherwise.
 *
 * @param verifiesCallbacks false where anybody may post a callback, as wherever ACS_RESOURCE_ID is not set
 */
export const localDefaults = (
  port: number,
  { tablesConnectionString, acs }: LocalParts,
  verifiesCallbacks: boolean,
): Settings => ({
  SERVICE_NAME: 'Wildfire Watch',
  CALLBACK_BASE_URL: `http://127.0.0.1:${port}`,
  ...(tablesConnectionString === undefined ? {} : { TABLES_CONNECTION_STRING: tablesConnectionString }),
  // For a real ACS they have no default: the app names those that are missing.
  ...(acs === undefined
    ? {}
    : {
        ACS_CONNECTION_STRING: acs.connectionString,
        ACS_SOURCE_PHONE_NUMBER: '+12065550199',
        // Nobody wants to watch a simulated phone for a minute.
        CALL_RETRY_SECONDS: '5',
        ACS_COGNITIVE_SERVICES_ENDPOINT: 'https://speech.invalid/',
        EVENT_TOPIC_ENDPOINT: acs.topic.endpoint,
        EVENT_TOPIC_KEY: acs.topic.key,
      }),
  ...(acs === undefined || !verifiesCallbacks
    ? {}
    : { ACS_RESOURCE_ID: acs.resourceId, ACS_TOKEN_ISSUER: acs.issuer, ACS_TOKEN_KEYS_URL: acs.keysUrl }),
});
