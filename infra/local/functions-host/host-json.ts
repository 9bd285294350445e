import { readFile } from 'node:fs/promises';

import { z } from 'zod';

/** The parts of host.json that this host follows; the others are about Azure. */
export interface HostJson {
  /** Before every route, without slashes at its ends; may be empty. */
  readonly routePrefix: string;
  /** Added to every answer that does not carry the header already. */
  readonly customHeaders: Readonly<Record<string, string>>;
}

const hostJsonSchema = z.object({
  version: z.literal('2.0'),
  extensions: z
    .object({
      http: z
        .object({
          routePrefix: z.string().default('api'),
          customHeaders: z.record(z.string(), z.string()).default({}),
        })
        .prefault({}),
    })
    .prefault({}),
});

/**
 * Reads host.json.
 *
 * @throws {Error} that names the file where it is missing, not JSON, or not a host.json of version 2.0
 */
export const readHostJson = async (path: string): Promise<HostJson> => {
  try {
    const { http } = hostJsonSchema.parse(JSON.parse(await readFile(path, 'utf8'))).extensions;
    return { routePrefix: http.routePrefix.replaceAll(/^\/+|\/+$/g, ''), customHeaders: http.customHeaders };
  } catch (error) {
    throw new Error(`${path} cannot be used as host.json`, { cause: error });
  }
};
