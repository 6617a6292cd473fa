/** `millrace`: a broker on disk in the caller's own process. */
export { Broker, type BrokerOptions } from './broker.ts'
