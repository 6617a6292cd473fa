export const DEFAULT_SERVER = '127.0.0.1:9092'
