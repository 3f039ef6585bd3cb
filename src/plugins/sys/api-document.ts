import { z } from 'zod'
import { isFixedMount } from '../../core/mounts/fixed-types.ts'
import type { Mount } from '../../core/mounts/mount.ts'
import type { MountStore } from '../../core/mounts/mount-store.ts'
import type { ApiDocument, DocumentedPlace } from '../../http/openapi.ts'
import { type Resource, resource } from '../../http/resource.ts'
import { boolField } from '../../lib/fields.ts'
import { answers } from './answers.ts'

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
        handle: ({ mount: { namespace }, caller, input }) => {
          const isShown = (mount: Mount) =>
            isFixedMount(mount) ||
            mount.config.listing_visibility === 'unauth' ||
            caller?.acl.mountAccess(mount.path) === true
          const places = input.generic_mount_paths
            ? genericPlaces(mounts, namespace)
            : mountsOf(mounts, namespace).filter(isShown).map(placeOf)
          return {
            raw: {
              status: 200,
              contentType: 'application/json',
              body: JSON.stringify(document.describe(places)),
            },
          }
        },
      },
    }),
  ]
}

const placeOf = ({ plugin, path }: Mount): DocumentedPlace => ({ group: plugin, path })

const mountsOf = ({ table }: MountStore, namespace: string) => [
  ...table.list(namespace, 'secret'),
  ...table.list(namespace, 'auth'),
]

/** The fixed mounts and every plugin that can be mounted. Reveals no existing mount, so anyone may see it. */
export function genericPlaces(mounts: MountStore, namespace: string): DocumentedPlace[] {
  const generic = mounts.types.offeredPlugins().map(({ table, plugin }): DocumentedPlace => {
    const before = table === 'auth' ? 'auth/' : ''
    return { group: plugin, path: `${before}${plugin}/`, parameter: `${plugin}_mount_path`, before }
  })
  return [...mountsOf(mounts, namespace).filter(isFixedMount).map(placeOf), ...generic]
}
