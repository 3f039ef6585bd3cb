import { z } from 'zod'
import { isFixedMount } from '../../core/mounts/fixed-types.ts'
import type { Mount } from '../../core/mounts/mount.ts'
import type { MountStore } from '../../core/mounts/mount-store.ts'
import type { ApiDocument } from '../../http/document/openapi.ts'
import { genericPlaces, mountPlaces } from '../../http/document/openapi-places.ts'
import { type Resource, resource } from '../../http/resource/resource.ts'
import { namesTag } from '../../lib/net/entity-tag.ts'
import { boolField } from '../../lib/text/fields.ts'
import { answers } from './answers/answers.ts'

export type ApiDocumentParts = { mounts: MountStore; document: ApiDocument }

/**
 * `sys/internal/specs/openapi`: sent without an envelope. It covers only the fixed mounts, the mounts listed
 * before login, and those the caller has access to. docs/operations.md#health
 */
export function apiDocumentResources({ mounts, document }: ApiDocumentParts): Resource[] {
  return [
    resource('/internal/specs/openapi', {
      help: 'The OpenAPI document of this server.',
      caller: 'optional',
      read: {
        summary: 'Read the OpenAPI document',
        ...answers.document,
        input: z.object({
          generic_mount_paths: boolField
            .default(false)
            .describe('Describe each mount type once, with the mount path as a parameter'),
        }),
        handle: async ({ call, mount: { namespace }, caller, input, header }) => {
          const isShown = (mount: Mount) =>
            isFixedMount(mount) ||
            mount.config.listing_visibility === 'unauth' ||
            caller?.acl.mountAccess(mount.path) === true
          const places = input.generic_mount_paths
            ? genericPlaces(mounts, namespace)
            : mountPlaces(mounts, namespace, isShown)
          const { body, etag } = await document.write(places)
          const headers = { etag }
          const known = call.wrapTtl > 0 ? undefined : header('if-none-match')
          if (namesTag(known, etag)) return { status: 304, headers }
          return { raw: { status: 200, contentType: 'application/json', headers, body } }
        },
      },
    }),
  ]
}
