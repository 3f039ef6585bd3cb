import type { FastifyReply, FastifyRequest } from 'fastify'
import { refuse } from '../../errors.ts'
import type { HelpPages } from '../document/help.ts'
import { routeTemplate } from '../exchange/access-log.ts'
import { type Call, callOf } from '../exchange/call.ts'
import type { Admit } from '../steps/admission.ts'
import { type Payload, put } from '../steps/answer.ts'
import type { Endpoint } from '../steps/endpoint.ts'
import type { Resource } from './resource.ts'
import { bySpecificity, endpointOf } from './resource-routes.ts'

/** A path of a mount type, and what is checked of requests that its routes do not serve. */
type Place = { readonly resource: Resource; readonly pattern: RegExp; readonly endpoint: Endpoint }

/**
 * Requests below a mount that no route serves: unknown paths, verbs that a path does not have, and calls for help. They
 * pass the checks of the path that they name, so that refusals tell nothing to those who may not know.
 */
export class Unserved {
  readonly #resources: ReadonlyMap<string, readonly Resource[]>
  readonly #parts: { readonly admit: Admit; readonly help: HelpPages }
  /** By the name of the plugin; made when the first request needs it. */
  readonly #places = new Map<string, readonly Place[]>()
  readonly #placeBy = new WeakMap<Call, Place>()

  /** `resources`: of all plugins, by their names; each list has one that matches every path. */
  constructor(
    resources: ReadonlyMap<string, readonly Resource[]>,
    parts: { readonly admit: Admit; readonly help: HelpPages },
  ) {
    this.#resources = resources
    this.#parts = parts
  }

  endpointOf(call: Call): Endpoint | undefined {
    return this.#placeOf(call)?.endpoint
  }

  /** Fastify's handler of what is not found. */
  readonly handle = async (request: FastifyRequest, reply: FastifyReply): Promise<Payload> => {
    const call = callOf(request.raw)
    const place = this.#placeOf(call)
    if (place === undefined) throw refuse('missing', '')
    if (call.operation !== 'help') throw place.resource.refusal()
    return put(reply, await this.#parts.help.answer(place.resource, call))
  }

  #placeOf(call: Call): Place | undefined {
    const known = this.#placeBy.get(call)
    if (known !== undefined || call.mount === undefined) return known
    const path = `/${call.below}`
    const found = this.#placesOf(call.mount.plugin).find(({ pattern }) => pattern.test(path))
    if (found !== undefined) this.#placeBy.set(call, found)
    return found
  }

  /** The most specific first, as the router decides. */
  #placesOf(plugin: string): readonly Place[] {
    const known = this.#places.get(plugin)
    if (known !== undefined) return known
    const places = (this.#resources.get(plugin) ?? []).flatMap((resource) =>
      resource.urls.map((url) => ({ url, ...this.#place(plugin, resource, url) })),
    )
    const sorted = places.toSorted((one, other) => bySpecificity(one.url, other.url))
    this.#places.set(plugin, sorted)
    return sorted
  }

  #place(plugin: string, resource: Resource, url: string): Place {
    const rulesOf = ({ operation }: Call) => (operation === 'help' ? resource.helpRules() : resource.rest())
    const endpoint = endpointOf(routeTemplate(`/${plugin}${url}`), this.#parts.admit, rulesOf)
    return { resource, pattern: patternOf(url), endpoint }
  }
}

/** The routes' own pattern of a name stands in parentheses. */
const patternOf = (url: string): RegExp =>
  new RegExp(`^${url.replace(/:\w+\(\^([^/]*)\$\)/g, '$1').replace(/\*$/, '.*')}$`, 's')
