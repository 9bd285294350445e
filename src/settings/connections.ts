import type { Connection } from '../azure/connection.ts';
import { isHttpsOrLoopback, text } from './rules.ts';
import type { Given, SettingProblem } from './settings-error.ts';

/** The fault if two settings that exclude each other are both given, or neither is. */
export const oneOf = (given: Given, [first, second]: readonly [string, string]): readonly SettingProblem[] => {
  const isGiven = given[first] !== undefined;
  if (isGiven !== (given[second] !== undefined)) return [];
  return isGiven
    ? [{ setting: second, detail: `cannot be set together with ${first}` }]
    : [{ setting: first, detail: `is required unless ${second} is set` }];
};

/** The connection by a connection string or an endpoint; undefined if neither is given. */
export const connectionOf = (
  connectionString: string | undefined,
  endpoint: string | undefined,
): Connection | undefined => {
  if (endpoint !== undefined) return { endpoint };
  return connectionString === undefined ? undefined : { connectionString };
};

/** The parts of a connection string, names in lower case; undefined if the text is not of that form. */
const partsOf = (value: string): ReadonlyMap<string, string> | undefined => {
  const parts = new Map<string, string>();
  for (const part of value.split(';')) {
    if (part.trim() === '') continue;
    const equals = part.indexOf('=');
    if (equals < 1) return undefined;
    parts.set(part.slice(0, equals).trim().toLowerCase(), part.slice(equals + 1).trim());
  }
  return parts;
};

const isBase64 = (value = ''): boolean => value !== '' && Buffer.from(value, 'base64').toString('base64') === value;

const isTablesConnectionString = (value: string): boolean => {
  const parts = partsOf(value);
  if (parts === undefined) return false;
  if (parts.get('usedevelopmentstorage')?.toLowerCase() === 'true') return true;
  const endpoint = parts.get('tableendpoint');
  if (endpoint !== undefined && !isHttpsOrLoopback(endpoint)) return false;
  if (endpoint === undefined && parts.get('defaultendpointsprotocol')?.toLowerCase() === 'http') return false;
  return parts.has('accountname')
    ? isBase64(parts.get('accountkey'))
    : endpoint !== undefined && parts.has('sharedaccesssignature');
};

const isAcsConnectionString = (value: string): boolean => {
  const parts = partsOf(value);
  return isBase64(parts?.get('accesskey')) && isHttpsOrLoopback(parts?.get('endpoint') ?? '');
};

const LOOPBACK_ONLY = '(http is accepted for loopback addresses only)';

/** A connection string of Azure Storage, with a key, a shared access signature, or for the emulator. */
export const tablesConnectionString = text.refine(
  isTablesConnectionString,
  `must be a storage connection string with https ${LOOPBACK_ONLY}`,
);

/** A connection string of Azure Communication Services. */
export const acsConnectionString = text.refine(
  isAcsConnectionString,
  `must be an ACS connection string with https ${LOOPBACK_ONLY}`,
);
