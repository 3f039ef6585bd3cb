import type { Caller } from '../../core/callers/access.ts'
import { Waits } from '../../core/servers/waits.ts'
import type { PluginDefinition } from '../../http/resource/plugin.ts'
import { ActingWindows } from './acting-windows.ts'
import { viewerOf } from './audience.ts'
import { BannerWarnings } from './banner-warnings.ts'
import { frontEndResources } from './front-end-routes.ts'
import { Lineages } from './lineages.ts'
import { messageResources } from './message-routes.ts'
import { MessageStore } from './message-store.ts'
import { ShownMessages } from './shown-messages.ts'

export type MessageOptions = {
  /** `community` has no messages. docs/contract/messages.md#community-edition */
  readonly edition: 'enterprise' | 'community'
  /** Maximum number of requests per client address that wait for messages to change. */
  readonly maxWaiters: number
  /** Responses tell of banners. docs/contract/message-windows.md#warnings */
  readonly warns: boolean
}

/** Messages of operators to users, below `sys/`. docs/contract/messages.md */
export const customMessages = ({ edition, maxWaiters, warns }: MessageOptions): PluginDefinition => ({
  table: 'secret',
  names: ['system'],
  open: (core) => {
    const { namespaces, clock, access, identities, confirmCopies } = core
    const messages = new MessageStore(core)
    const lineages = new Lineages({ namespaces, clock, messages })
    const shownMessages = new ShownMessages({ lineages, clock, messages })
    const viewerBehind = async ({ token }: Caller) =>
      viewerOf(token, token.entity_id === '' ? undefined : await identities.identityOf(token.entity_id))
    if (edition === 'enterprise') {
      const acting = new ActingWindows({ lineages, messages, log: core.log })
      const banners = new BannerWarnings({ shownMessages, clock, viewerBehind })
      core.announcements.follow({
        windowsOf: (namespace) => acting.of(namespace),
        bannerFor: (caller, namespace) => (warns ? banners.for(caller, namespace) : undefined),
      })
    }
    const messageWaits = new Waits({ maxPerAddress: maxWaiters })
    messages.onChange((namespaceId) => messageWaits.changed(namespaceId))
    core.onRecheck(() => messageWaits.wakeAll())
    core.namespaceLife.addRemovalStep({
      name: 'waits',
      phase: 'waiting requests',
      remove: (id) => messageWaits.endTopic(id),
    })
    core.namespaceLife.addRemovalStep({
      name: 'messages',
      phase: 'data',
      remove: (id) => messages.removeNamespace(id),
    })
    return {
      resources: [
        ...(edition === 'enterprise' ? messageResources({ messages, clock, history: core.history }) : []),
        ...frontEndResources({
          edition,
          messages,
          shownMessages,
          messageWaits,
          namespaces,
          clock,
          access,
          identities,
          viewerBehind,
          confirmCopies,
          isSealed: () => core.barrier.isSealed(),
        }),
      ],
      onClosing: () => messageWaits.endAll(),
    }
  },
})
